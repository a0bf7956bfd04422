"""What every way of searching has in common: skills and queries in, a Run and some facts about it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from skillfit.types import Query, Ranking, Run, Skill


class Pool(Protocol):
    """A corpus as search needs it: ids in storage order, skills streamed in the same order, a hash of the content."""

    @property
    def ids(self) -> Sequence[str]:
        """The skill ids in storage order."""
        ...

    @property
    def content_hash(self) -> str:
        """A hash of all texts, independent of where they are stored."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Skill]: ...


@dataclass
class SearchFacts:
    """What a reader needs beside a run: shares of cut texts, times, the model's fingerprint, the view used."""

    facts: dict[str, Any] = field(default_factory=dict)


class Searcher(Protocol):
    """A retriever: ranks skills of a pool for queries."""

    def search(self, pool: Pool, queries: Sequence[Query]) -> tuple[Run, SearchFacts]:
        """Return up to `depth` skills a query, and the facts of the search."""
        ...


def top_k(scores: np.ndarray, id_order: np.ndarray, k: int) -> np.ndarray:
    """Exact top-k positions of one query under the total order (score descending, then skill_id ascending).

    scores: (N,) float. id_order: (N,) the rank of each position's skill_id in ascending order. Returns (min(k, N),)
    positions. A cut through equal scores is decided by skill_id, never by the partition algorithm.
    """
    n = len(scores)
    if k < n:
        threshold = scores[np.argpartition(-scores, k - 1)[k - 1]]
        candidates = np.flatnonzero(scores >= threshold)
    else:
        candidates = np.arange(n)
    order = np.lexsort((id_order[candidates], -scores[candidates]))
    return np.asarray(candidates[order[:k]])


def id_order(ids: Sequence[str]) -> np.ndarray:
    """(N,) rank of each skill_id in ascending order, the tie-breaker of `top_k`."""
    order = np.empty(len(ids), dtype=np.int64)
    order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return order


def ranking(ids: Sequence[str], scores: np.ndarray, positions: np.ndarray) -> Ranking:
    """A Ranking from positions that `top_k` chose."""
    return Ranking(tuple(ids[i] for i in positions), tuple(float(scores[i]) for i in positions))
