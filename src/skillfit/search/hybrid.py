"""Hybrid retrieval: several retrievers fused by reciprocal rank or by scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.errors import UserError
from skillfit.search.base import Pool, SearchFacts
from skillfit.types import Query, Ranking, Run


def reciprocal_rank_fusion(
    runs: Sequence[Run], weights: Sequence[float], *, constant: int = 60, depth: int | None = None
) -> Run:
    """Fuse runs: score(d) = sum over runs of weight / (constant + rank), ranks from 1, absent runs add 0.

    The fused order follows the one tie rule (score, then skill_id). Each run is used to its full length, so the top 5
    of a deep fusion equals a fusion asked for 5. Source: Cormack et al. 2009; weights as in arXiv 2604.04323.
    Raises ValueError if the numbers of runs and weights differ.
    """
    fused: dict[str, dict[str, float]] = {}
    for run, weight in zip(runs, weights, strict=True):
        for query_id in run:
            scores = fused.setdefault(query_id, {})
            for rank, skill_id in enumerate(run.ranked(query_id), start=1):
                scores[skill_id] = scores.get(skill_id, 0.0) + weight / (constant + rank)
    result = Run.from_scores({query_id: scores.items() for query_id, scores in fused.items()})
    return result if depth is None else result.top(depth)


def score_fusion(
    runs: Sequence[Run], weights: Sequence[float], depths: Sequence[int], *, depth: int | None = None
) -> Run:
    """Fuse runs: score(d) = sum over runs of weight * s(d), s the run's scores on [0, 1] per query, absent runs add 0.

    A query's best score becomes 1 and its floor 0: the last score of a ranking cut at its run's depth, else 0 or a
    lower last score, since what a shorter ranking leaves out scored nothing. A ranking of equal scores gets 1
    throughout. Source: convex combination, Bruch et al. 2023 (arXiv 2210.11934), section 4. Raises ValueError if the
    numbers of runs, weights and depths differ.
    """
    fused: dict[str, dict[str, float]] = {}
    for run, weight, cut in zip(runs, weights, depths, strict=True):
        for query_id, found in run.items():
            scores = fused.setdefault(query_id, {})
            for skill_id, score in zip(found.skill_ids, _scaled(found, cut), strict=True):
                scores[skill_id] = scores.get(skill_id, 0.0) + weight * score
    result = Run.from_scores({query_id: scores.items() for query_id, scores in fused.items()})
    return result if depth is None else result.top(depth)


def _scaled(ranking: Ranking, cut: int) -> list[float]:
    if not ranking.scores:
        return []
    top, last = ranking.scores[0], ranking.scores[-1]
    floor = last if len(ranking) >= cut else min(0.0, last)
    return [(score - floor) / (top - floor) if top > floor else 1.0 for score in ranking.scores]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))
class HybridRetriever:
    """Fusion of retrievers, each searched to its own depth whatever is asked of the fusion.

    fusion: `rank` (reciprocal ranks with `constant`) or `score` (scores scaled to [0, 1] per query). model: the name
    that the config hands to the dense part; here it only goes into the facts.
    """

    parts: dict[str, Any] = Field(min_length=1)
    weights: dict[str, float]
    model: str | None = None
    fusion: Literal["rank", "score"] = "rank"
    constant: int = Field(default=60, ge=1)
    depth: int = Field(default=100, ge=1)

    def __post_init__(self) -> None:
        if set(self.parts) != set(self.weights):
            fix = f"name the same parts as retriever.parts: {', '.join(sorted(self.parts))}"
            raise UserError("config", "retriever.weights", dict(self.weights), fix)
        for name, weight in self.weights.items():
            if not 0 <= weight < float("inf"):
                raise UserError("config", f"retriever.weights.{name}", weight, "use a finite number >= 0")

    def search(self, pool: Pool, queries: Sequence[Query]) -> tuple[Run, SearchFacts]:
        """Search every part and fuse the answers."""
        runs, facts = [], {}
        for name, part in self.parts.items():
            run, part_facts = part.search(pool, queries)
            runs.append(run)
            facts[name] = part_facts.facts
        weights = [self.weights[name] for name in self.parts]
        if self.fusion == "rank":
            fused = reciprocal_rank_fusion(runs, weights, constant=self.constant, depth=self.depth)
        else:
            fused = score_fusion(runs, weights, [part.depth for part in self.parts.values()], depth=self.depth)
        kind = {"kind": "hybrid", "model": self.model, "fusion": self.fusion, "depth": self.depth}
        if self.fusion == "rank":
            kind["constant"] = self.constant
        return fused, SearchFacts({"retriever": {**kind, "weights": dict(self.weights)}, "parts": facts})
