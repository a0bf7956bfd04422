"""Systems of several run folders against one baseline, query by query, with the uncertainty of every difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from skillfit.analysis.align import System, align, find_baseline
from skillfit.analysis.folder import MetricRow, read_folder
from skillfit.analysis.queries import SIZES, QueryTable
from skillfit.metrics.stats import (
    BootstrapOptions,
    Interval,
    bootstrap_mean_intervals,
    holm,
    minimum_detectable_effect,
    paired_permutation_test,
)
from skillfit.provenance import git_state, versions

TESTED = ("all", *SIZES)  # the groups with tests: one for every small group would drown the ones that matter
TIE = 1e-12  # values that are equal on paper differ in their last bits


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CompareOptions:
    """Resamples of the intervals, sign patterns of the tests, their common seed; alpha and power of `detectable`."""

    n_resamples: int = Field(default=2000, ge=1)
    permutations: int = Field(default=10_000, ge=1)
    seed: int = Field(default=0, ge=0)
    alpha: float = Field(default=0.05, gt=0, lt=1)
    power: float = Field(default=0.8, gt=0, lt=1)

    @property
    def bootstrap(self) -> BootstrapOptions:
        """The same as options of a 95 % percentile bootstrap."""
        return BootstrapOptions(n_resamples=self.n_resamples, seed=self.seed)


@dataclass(frozen=True)
class Difference:
    """A system minus the baseline on the same queries. All numbers but the counts are fractions.

    p: two-sided paired sign-flip test. p_holm: corrected over the systems tested on this group and metric.
    detectable: the smallest true difference this n finds with the asked power, from the spread of the differences
    seen; None if these have no spread, as nothing is known of it then.
    """

    difference: float
    difference_low: float
    difference_high: float
    p: float
    p_holm: float
    wins: int
    losses: int
    ties: int
    detectable: float | None


@dataclass(frozen=True)
class Compared:
    """One figure on the shared queries, and its difference to the baseline where it was tested."""

    row: MetricRow
    difference: Difference | None = None


@dataclass(frozen=True)
class Comparison:
    """All figures of a comparison. rows: by system, then group, then metric."""

    systems: tuple[System, ...]
    baseline: str
    metrics: tuple[str, ...]
    n: int
    n_own: Mapping[str, int]
    notes: tuple[str, ...]
    rows: tuple[Compared, ...]
    options: CompareOptions

    def find(self, system: str, group: str, metric: str) -> Compared | None:
        """The figure of one cell, None if the group is empty."""
        key = (system, group, metric)
        return next((r for r in self.rows if (r.row.system, r.row.group, r.row.metric) == key), None)

    def as_json(self) -> dict[str, Any]:
        """What `comparison.json` holds: rows as in `metrics.json` plus the difference fields, null where not tested."""
        empty = dict.fromkeys(Difference.__dataclass_fields__)
        rows = [{**asdict(r.row), **(asdict(r.difference) if r.difference else empty)} for r in self.rows]
        return {
            "baseline": self.baseline,
            "queries": {"shared": self.n, "scored": dict(self.n_own)},
            "notes": list(self.notes),
            "rows": rows,
            "provenance": {
                "job": "report",
                "options": asdict(self.options),
                "code": git_state(Path(__file__).parent),
                "versions": versions(),
                "systems": {s.label: {"folder": str(s.record.path), "system": s.name} for s in self.systems},
                "runs": {str(s.record.path): s.record.provenance for s in self.systems},
            },
        }


def compare(
    folders: Sequence[Path | str],
    baseline: Path | str | None = None,
    options: CompareOptions | None = None,
) -> Comparison:
    """Compare all systems of the run folders on the queries they share.

    baseline: a system's label or name, or a run folder with one system; None takes the first system of the first
    folder. Systems of one name get their folder's name behind it. Raises UserError for folders that cannot be compared.
    """
    chosen = options or CompareOptions()
    aligned = align([read_folder(folder) for folder in folders])
    base = find_baseline(aligned.systems, baseline)
    rows = [Compared(row) for system in aligned.systems for row in _values(system, aligned.metrics, chosen)]
    differences = _differences(aligned.systems, base, aligned.metrics, chosen)
    rows = [replace(r, difference=differences.get((r.row.system, r.row.group, r.row.metric))) for r in rows]
    return Comparison(
        systems=aligned.systems,
        baseline=base.label,
        metrics=aligned.metrics,
        n=len(base.queries.query_ids),
        n_own=aligned.n_own,
        notes=aligned.notes,
        rows=tuple(rows),
        options=chosen,
    )


def _values(system: System, metrics: Sequence[str], options: CompareOptions) -> Iterator[MetricRow]:
    """The rows of `metrics.json` anew, on the shared queries and from one set of resamples for all systems."""
    record = system.record
    for group in dict.fromkeys(row.group for row in record.rows if row.system == system.name):
        at = system.queries.members(group)
        if not len(at):
            continue
        table = np.column_stack([system.queries.values[metric][at] for metric in metrics])
        for metric, found in zip(metrics, bootstrap_mean_intervals(table, options.bootstrap), strict=True):
            yield MetricRow(
                suite=record.suite,
                benchmark=record.benchmark,
                system=system.label,
                group=group,
                metric=metric,
                value=found.value,
                low=found.low,
                high=found.high,
                n=found.n,
            )


def _differences(
    systems: Sequence[System], base: System, metrics: Sequence[str], options: CompareOptions
) -> dict[tuple[str, str, str], Difference]:
    others = [system for system in systems if system is not base]
    found = {}
    for group in TESTED:
        at = base.queries.members(group)
        if not len(at):
            continue
        tables = {s.label: _minus(s.queries, base.queries, metrics, at) for s in others}
        spans = {label: bootstrap_mean_intervals(table, options.bootstrap) for label, table in tables.items()}
        for j, metric in enumerate(metrics):
            raw = [_p_value(tables[s.label][:, j], options) for s in others]
            for system, p, p_holm in zip(others, raw, holm(raw), strict=True):
                column = tables[system.label][:, j]
                found[system.label, group, metric] = _describe(column, spans[system.label][j], p, p_holm, options)
    return found


def _minus(system: QueryTable, base: QueryTable, metrics: Sequence[str], at: np.ndarray) -> np.ndarray:
    """(n, M) per-query differences; both tables hold the shared queries in one order."""
    return np.column_stack([system.values[metric][at] - base.values[metric][at] for metric in metrics])


def _p_value(differences: np.ndarray, options: CompareOptions) -> float:
    zeros = np.zeros_like(differences)
    test = paired_permutation_test(differences, zeros, n_resamples=options.permutations, seed=options.seed)
    return test.p_value


def _describe(differences: np.ndarray, span: Interval, p: float, p_holm: float, options: CompareOptions) -> Difference:
    sd = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    detectable = minimum_detectable_effect(sd, len(differences), alpha=options.alpha, power=options.power)
    return Difference(
        difference=span.value,
        difference_low=span.low,
        difference_high=span.high,
        p=p,
        p_holm=p_holm,
        wins=int((differences > TIE).sum()),
        losses=int((differences < -TIE).sum()),
        ties=int((abs(differences) <= TIE).sum()),
        detectable=detectable if sd > 0 else None,
    )
