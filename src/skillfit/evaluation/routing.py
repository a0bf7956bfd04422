"""The routing suite: rank the pool for every query, score the run, and leave numbers that others can check."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark
from skillfit.errors import UserError, suggest
from skillfit.io import write_json, write_predictions, write_trec_run
from skillfit.metrics import (
    DEFAULT_MEASURES,
    BootstrapOptions,
    Measure,
    QueryScores,
    parse_measures,
    score_run,
    summarise,
)
from skillfit.provenance import RunFolder
from skillfit.types import Run

log = logging.getLogger(__name__)
WORST = 10  # queries shown in full in the report
SHOWN_ABOVE = 5  # skills listed above the required one


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class RoutingSuite:
    """Hit@1, MRR@10, nDCG@10, Recall@k and FC@10 over all, single- and multi-skill queries and the benchmark's groups.

    groups: the axes to report beside size; None takes all the benchmark has with at most 25 values. profile: `sr`
    scores as SkillRouter's own program does, its skipping included. The worst queries are chosen by `worst_by`.
    """

    measures: list[str] = Field(default_factory=lambda: [measure.name for measure in DEFAULT_MEASURES])
    groups: list[str] | None = None
    profile: Literal["default", "sr"] = "default"
    bootstrap: BootstrapOptions = Field(default_factory=BootstrapOptions)
    worst_by: str = "nDCG@10"

    def __post_init__(self) -> None:
        if not self.measures:
            raise UserError("config", "measures", "[]", "name at least one measure, such as [Hit@1]")
        self.parsed()

    def check(self, benchmark: Benchmark) -> None:
        """Raise UserError for an axis in `groups` that no query of the benchmark has."""
        known = {axis for query in benchmark.queries for axis in query.groups}
        for axis in self.groups or ():
            if axis not in known:
                raise UserError("config", "suite.groups", axis, f"no query has this axis; {suggest(axis, known)}")

    def parsed(self) -> tuple[Measure, ...]:
        """The measures, `worst_by` included."""
        names = [*self.measures, *([] if self.worst_by in self.measures else [self.worst_by])]
        return parse_measures(names, place="suite")

    def evaluate(
        self, benchmark: Benchmark, runs: Mapping[str, Run], facts: Mapping[str, Any], folder: RunFolder
    ) -> list[dict[str, Any]]:
        """Score each system's run and write metrics, per-query rows, worst queries and the runs into the folder.

        Returns the rows of `metrics.json`. Raises UserError if no query can be scored.
        """
        rows, per_query, worst, counts = [], [], [], {}
        axes = benchmark.axes() if self.groups is None else self.groups
        for system, run in runs.items():
            scores = score_run(
                run,
                benchmark.queries,
                benchmark.qrels,
                self.parsed(),
                profile=self.profile,
                pool_ids=benchmark.corpus.ids,
            )
            rows += self._rows(benchmark, system, scores, axes)
            per_query += [{"system": system, **row} for row in scores.rows()]
            worst += self._worst(benchmark, system, run, scores)
            counts[system] = asdict(scores.counts)
            self._write_run(folder, system, run, only=len(runs) == 1)
        folder.facts |= {"data": dict(benchmark.facts), "counts": counts, "systems": dict(facts)}
        _write_parquet(folder, per_query)
        write_json(folder.path / "worst.json", worst)
        write_json(folder.path / "metrics.json", {"rows": rows, "provenance": folder.provenance()})
        return rows

    def _rows(
        self, benchmark: Benchmark, system: str, scores: QueryScores, axes: Sequence[str]
    ) -> list[dict[str, Any]]:
        return [
            {
                "suite": "routing",
                "benchmark": benchmark.name,
                "system": system,
                "group": row.group,
                "metric": row.measure,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "n": row.n,
            }
            for row in summarise(scores, axes, self.bootstrap)
        ]

    def _worst(self, benchmark: Benchmark, system: str, run: Run, scores: QueryScores) -> list[dict[str, Any]]:
        """The queries with the lowest value of `worst_by`, the deepest first required skill first, then by id."""
        values, first = scores.values[self.worst_by], scores.first_required
        texts = {query.query_id: query.text for query in benchmark.queries}
        order = sorted(
            range(len(scores.query_ids)),
            key=lambda i: (values[i], -(first[i] or len(benchmark.corpus) + 1), scores.query_ids[i]),
        )
        found = []
        for i in order[:WORST]:
            query_id = scores.query_ids[i]
            ranking = run.get(query_id)
            ranked = ranking.skill_ids if ranking else ()
            above = ranked[: first[i] - 1 if first[i] else SHOWN_ABOVE][:SHOWN_ABOVE]
            found.append(
                {
                    "system": system,
                    "query_id": query_id,
                    "text": texts[query_id],
                    "size": scores.groups[i]["size"],
                    "metric": self.worst_by,
                    "value": float(values[i]),
                    "required": [
                        _shown(benchmark, skill, ranked, None) for skill in sorted(benchmark.qrels.required[query_id])
                    ],
                    "above": [
                        _shown(benchmark, skill, ranked, ranking.scores[rank] if ranking else None)
                        for rank, skill in enumerate(above)
                    ],
                }
            )
        return found

    def _write_run(self, folder: RunFolder, system: str, run: Run, *, only: bool) -> None:
        suffix = "" if only else f".{system}"
        write_trec_run(folder.path / f"run{suffix}.trec", run, tag=system.replace(" ", "_"))
        write_predictions(folder.path / f"predictions{suffix}.json", run)


def _shown(benchmark: Benchmark, skill_id: str, ranked: Sequence[str], score: float | None) -> dict[str, Any]:
    """What a report says of a skill; one that a foreign run names and the pool does not have keeps its id only."""
    known = skill_id in benchmark.corpus
    skill = benchmark.corpus.get(skill_id) if known else None
    shown = {
        "skill_id": skill_id,
        "name": skill.name if skill else skill_id,
        "description": skill.description[:300] if skill else "",
        "rank": ranked.index(skill_id) + 1 if skill_id in ranked else None,
    }
    return shown if score is None else {**shown, "score": score}


def _write_parquet(folder: RunFolder, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from skillfit.io import atomic_write

    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    with atomic_write(folder.path / "per_query.parquet", "wb") as handle:
        pq.write_table(table, handle)
