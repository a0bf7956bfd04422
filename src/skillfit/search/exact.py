"""Exact ranking by vectors: a score depends on its query and its skill alone, so that equal texts tie exactly.

A matrix product decides who can be in the top; its last bits depend on block sizes, threads and neighbours. So what it
finds, with a margin for those bits, is scored again row by row in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillfit.data.passages import PassageScore
from skillfit.search.base import id_order, ranking, top_k
from skillfit.types import Run

QUERIES_AT_ONCE = 64
SCORES_AT_ONCE = 8_000_000  # float32 in a block of queries: 32 MB
ROWS_AT_ONCE = 8_192  # scored in float64


def rank_all(
    ids: Sequence[str],
    vectors: np.ndarray,
    query_ids: Sequence[str],
    query_vectors: np.ndarray,
    depth: int,
    *,
    starts: np.ndarray | None = None,
    score: PassageScore = "max",
) -> Run:
    """Exact top-`depth` of every query, scores rounded to float32.

    vectors: (P, H) float32. query_vectors: (Q, H) float32. starts: (N + 1,) where each skill's rows begin, and P; None
    is one row a skill. score: how the scores of a skill's rows become its own.
    """
    pool = SkillVectors(vectors, np.arange(len(ids) + 1) if starts is None else starts, score)
    order, rankings, longest = id_order(ids), {}, pool.longest()
    block = max(1, min(QUERIES_AT_ONCE, SCORES_AT_ONCE // max(1, len(vectors))))
    for first in range(0, len(query_ids), block):
        queries = query_vectors[first : first + block]
        for query_id, query, rough in zip(query_ids[first : first + block], queries, pool.rough(queries), strict=True):
            chosen = candidates(rough, depth, pool.margin(query, longest))
            scores = pool.exact(query, chosen)
            rankings[query_id] = ranking([ids[i] for i in chosen], scores, top_k(scores, order[chosen], depth))
    return Run(rankings)


def candidates(rough: np.ndarray, depth: int, margin: float) -> np.ndarray:
    """Positions in (N,) rough scores that can be among the best `depth` if each is off by at most half the margin."""
    if depth >= len(rough):
        return np.arange(len(rough))
    return np.flatnonzero(rough >= np.partition(rough, len(rough) - depth)[len(rough) - depth] - margin)


@dataclass(frozen=True)
class SkillVectors:
    """vectors: (P, H) float32; starts: (N + 1,) first row of each skill, and P; score: max or mean of its rows."""

    vectors: np.ndarray
    starts: np.ndarray
    score: PassageScore

    def rough(self, queries: np.ndarray) -> np.ndarray:
        """(B, N) scores of all skills for (B, H) queries, off by rounding."""
        scores, counts = queries @ self.vectors.T, np.diff(self.starts)
        if len(counts) == len(self.vectors):
            return np.asarray(scores)
        if self.score == "max":
            return np.asarray(np.maximum.reduceat(scores, self.starts[:-1], axis=1))
        return np.asarray(np.add.reduceat(scores, self.starts[:-1], axis=1) / counts.astype(np.float32))

    def exact(self, query: np.ndarray, skills: np.ndarray) -> np.ndarray:
        """(n,) float32 scores of the skills at these positions, each computed as if it were alone.

        Products of two float32 are exact in float64, and each row is summed by itself.
        """
        if not len(skills):
            return np.empty(0, np.float32)
        counts = self.starts[skills + 1] - self.starts[skills]
        begins = np.cumsum(counts) - counts
        rows = np.repeat(self.starts[skills] - begins, counts) + np.arange(counts.sum())
        wide = query.astype(np.float64)
        parts = [rows[i : i + ROWS_AT_ONCE] for i in range(0, len(rows), ROWS_AT_ONCE)]
        scores = np.concatenate(
            [(self.vectors[part].astype(np.float64, order="C") * wide).sum(axis=1) for part in parts]
        )
        reduced = (
            np.maximum.reduceat(scores, begins) if self.score == "max" else np.add.reduceat(scores, begins) / counts
        )
        return np.asarray(reduced, dtype=np.float32)

    def longest(self) -> float:
        """The greatest length of a vector."""
        return float(np.sqrt(np.einsum("ph,ph->p", self.vectors, self.vectors).max(initial=0.0)))

    def margin(self, query: np.ndarray, longest: float) -> float:
        """Twice a bound of the error of `rough`, last roundings included.

        Higham 2002, section 3.1: a float32 dot product of n terms is off by at most about n u |a||b|, u = 2^-24; the
        mean of m adds m roundings.
        """
        terms = len(query) + int(np.diff(self.starts).max(initial=1)) + 8
        return terms * float(np.finfo(np.float32).eps) * float(np.linalg.norm(query)) * longest
