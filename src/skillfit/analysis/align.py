"""Which systems may stand in one table, under which names, and on which queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from skillfit.analysis.folder import RunRecord
from skillfit.analysis.queries import QueryTable
from skillfit.errors import UserError, suggest


@dataclass(frozen=True)
class System:
    """One system of a comparison: the label it stands under, where it comes from, and its queries."""

    label: str
    name: str
    record: RunRecord
    queries: QueryTable


@dataclass(frozen=True)
class Aligned:
    """Systems on the queries they share, in the order of the first one. n_own: label -> queries before that."""

    systems: tuple[System, ...]
    metrics: tuple[str, ...]
    n_own: Mapping[str, int]
    notes: tuple[str, ...]


def align(records: Sequence[RunRecord]) -> Aligned:
    """Label the systems and cut them to the queries and metrics all of them have.

    Raises UserError naming both folders if they differ in suite, benchmark, corpus or scoring profile, if a shared
    query is judged differently, or if nothing is shared.
    """
    _check_folders(records)
    for first, second in combinations(records, 2):
        _check_comparable(first, second)
    named = _label(records)
    others = [set(system.queries.query_ids) for system in named[1:]]
    shared = [query_id for query_id in named[0].queries.query_ids if all(query_id in ids for ids in others)]
    metrics = [m for m in records[0].metrics if all(m in record.metrics for record in records)]
    if not shared or not metrics:
        what = "query" if not shared else "metric"
        raise UserError(_both(records), fix=f"no {what} is scored in all of them; evaluate them on the same data")
    systems = tuple(System(s.label, s.name, s.record, s.queries.take(shared)) for s in named)
    for other in systems[1:]:
        _check_judgements(systems[0], other)
    n_own = {system.label: len(system.queries.query_ids) for system in named}
    return Aligned(systems, tuple(metrics), n_own, tuple(_notes(records, metrics, n_own, len(shared))))


def find_baseline(systems: Sequence[System], baseline: str | Path | None) -> System:
    """The system a label, a system's name or a run folder means; None is the first one.

    Raises UserError if it means none of them or more than one.
    """
    if baseline is None:
        return systems[0]
    text = str(baseline)
    labels = [system.label for system in systems]
    found = [s for s in systems if s.label == text] or [s for s in systems if s.name == text]
    if not found:
        found = [s for s in systems if s.record.path.resolve() == Path(text).resolve()]
    if not found:
        fix = f"is no system and no folder of this comparison; {suggest(text, labels)}"
        raise UserError("comparison", "baseline", text, fix)
    if len(found) > 1:
        fix = f"means {len(found)} systems; name one of: {', '.join(s.label for s in found)}"
        raise UserError("comparison", "baseline", text, fix)
    return found[0]


def _check_folders(records: Sequence[RunRecord]) -> None:
    if not records:
        raise UserError("comparison", "runs", fix="name the run folders to compare")
    for path, count in Counter(record.path.resolve() for record in records).items():
        if count > 1:
            raise UserError("comparison", "runs", path.name, "is named twice; name each run folder once")


def _check_comparable(first: RunRecord, second: RunRecord) -> None:
    pool = "the pools of skills differ, so the numbers cannot be compared; evaluate both on one pool"
    pairs: list[tuple[str, Any, Any, str]] = [
        ("suite", first.suite, second.suite, "compare runs of one suite"),
        ("benchmark", first.benchmark, second.benchmark, "compare runs on one benchmark"),
        ("corpus_hash", first.data.get("corpus_hash"), second.data.get("corpus_hash"), pool),
        ("profile", _profile(first), _profile(second), "they were scored by different rules; use one profile"),
    ]
    for name, one, other, fix in pairs:
        if one != other:
            values = f"{one} in {first.path}, {other} in {second.path}"
            raise UserError(_both([first, second]), name, fix=f"{values}: {fix}")


def _check_judgements(first: System, second: System) -> None:
    rows = zip(
        first.queries.query_ids,
        zip(first.queries.n_required, first.queries.groups["size"], strict=True),
        zip(second.queries.n_required, second.queries.groups["size"], strict=True),
        strict=True,
    )
    for query_id, one, other in rows:
        if one != other:
            fix = (
                f"needs {one[0]} skills ({one[1]}) in one and {other[0]} ({other[1]}) in the other; use the same qrels"
            )
            raise UserError(_both([first.record, second.record]), "query", query_id, fix)


def _label(records: Sequence[RunRecord]) -> list[System]:
    pairs = [(record, name) for record in records for name in record.systems]
    clashes = {name for name, count in Counter(name for _, name in pairs).items() if count > 1}
    folders = _short_paths([record.path for record in records])
    return [
        System(f"{name} ({folders[record.path]})" if name in clashes else name, name, record, record.queries[name])
        for record, name in pairs
    ]


def _short_paths(paths: Sequence[Path]) -> dict[Path, str]:
    """The last part of each path, or as many last parts as tell them apart."""
    parts = {path: path.resolve().parts for path in paths}
    depth = 1
    while len({names[-depth:] for names in parts.values()}) < len(parts):
        depth += 1
    return {path: "/".join(names[-depth:]) for path, names in parts.items()}


def _notes(
    records: Sequence[RunRecord], metrics: Sequence[str], n_own: Mapping[str, int], shared: int
) -> Iterator[str]:
    left_out = [f"{n - shared} of {n} of {label}" for label, n in n_own.items() if n > shared]
    if left_out:
        yield f"Queries left out, as not every system has them scored: {'; '.join(left_out)}."
    lost = sorted({metric for record in records for metric in record.metrics} - set(metrics))
    if lost:
        yield f"Left out, as not every run has them: {', '.join(lost)}."
    if len({str(record.data.get("queries_hash")) for record in records}) > 1:
        yield "The query files differ; the shared queries need the same number of skills, but their texts may differ."


def _profile(record: RunRecord) -> Any:
    config = record.provenance.get("config")
    return config.get("profile", "default") if isinstance(config, Mapping) else "default"


def _both(records: Sequence[RunRecord]) -> str:
    return " and ".join(str(record.path) for record in records)
