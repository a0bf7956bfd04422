"""Pairs of the benchmark's own judged queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import PairSet, pairs_from


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class JudgedPairs:
    """One pair for each required skill of each query of the split; skills graded 0 for it are its negatives."""

    def pairs(self, benchmark: Benchmark, *, split: str, seed: int, protected: frozenset[str]) -> PairSet:
        """The pairs in the order of the queries. Raises UserError if there is no such split."""
        part = benchmark.split(split)
        pairs = [
            replace(pair, negatives=_refused(part.qrels.grades.get(pair.query_id, {}), pair.answers))
            for pair in pairs_from(part.queries, part.qrels, benchmark.corpus.copies())
        ]
        used = {pair.query_id for pair in pairs}
        counts = {"queries": len(part.queries), "without_skill": len(part.queries) - len(used), "pairs": len(pairs)}
        return PairSet(tuple(pairs), {q.query_id: q.text for q in part.queries if q.query_id in used}, counts=counts)


def _refused(grades: Mapping[str, int], answers: frozenset[str]) -> tuple[str, ...]:
    return tuple(skill for skill, grade in sorted(grades.items()) if grade == 0 and skill not in answers)
