"""Copies in a corpus: skills whose bodies are equal, and skills whose bodies share most of their wording."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

WIDTH = 5  # words a shingle, as in the benchmark's own list of near duplicates
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so no information of a word's hash is lost when it is multiplied
_BLOCK = 4_000_000  # shingle hashes looked up, or candidate products formed, at a time


class CopyFinder:
    """Collects bodies one by one and keeps only hashes of them; `groups` and `near` then say which are copies.

    Two bodies are equal when they differ only in case and white space. Empty bodies are never copies of each other.
    """

    def __init__(self, threshold: float | None) -> None:
        self.threshold = threshold
        self._members: dict[bytes, list[str]] = {}  # one entry a distinct body, in order of first appearance
        self._shingles: list[np.ndarray] = []

    def add(self, skill_id: str, body: str) -> None:
        """Note one skill's body."""
        words = body.lower().split()
        if not words:
            return
        key = hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        members = self._members.setdefault(key, [])
        members.append(skill_id)
        if len(members) == 1 and self.threshold is not None:
            self._shingles.append(shingle_hashes(words))

    def groups(self) -> dict[str, str]:
        """skill_id -> the smallest skill_id with the same body, for skills that have an equal."""
        return {skill: min(members) for members in self._members.values() if len(members) > 1 for skill in members}

    def near(self) -> tuple[dict[str, tuple[str, ...]], int]:
        """skill_id -> ids of near copies, equal ones left out; and how many pairs of distinct bodies are near."""
        if self.threshold is None:
            return {}, 0
        bodies = list(self._members.values())
        left, right, _ = near_pairs(self._shingles, self.threshold)
        found: dict[str, list[str]] = {}
        for i, j in zip(left.tolist(), right.tolist(), strict=True):
            for one, other in ((i, j), (j, i)):
                for skill in bodies[one]:
                    found.setdefault(skill, []).extend(bodies[other])
        return {skill: tuple(sorted(others)) for skill, others in found.items()}, len(left)


def shingle_hashes(words: Sequence[str], width: int = WIDTH) -> np.ndarray:
    """Sorted distinct 64-bit hashes of all runs of `width` words; fewer words make one shorter run.

    Hashes are the same in every process; the chance that any two of 10^8 shingles share one is below 10^-3.
    """
    if not words:
        return np.empty(0, dtype=np.uint64)
    hashes = np.fromiter(map(_word_hash, words), dtype=np.uint64, count=len(words))
    width = min(width, len(words))
    count = len(words) - width + 1
    mixed = np.zeros(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for offset in range(width):
            mixed = mixed * _FACTOR + hashes[offset : offset + count]
    return np.unique(mixed)


def near_pairs(sets: Sequence[np.ndarray], threshold: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs i < j of sets with Jaccard similarity >= threshold: (P,) i, (P,) j, (P,) similarity. Exact.

    sets: sorted distinct uint64. Two sets that similar share one of the few rarest elements of each (prefix filter:
    Bayardo et al. 2007, Xiao et al. 2008), so only such pairs are compared in full.
    """
    sizes = np.array([len(s) for s in sets], dtype=np.int64)
    matrix = _shared_elements(sets)
    prefix = _prefixes(matrix, sizes, threshold)
    left, right, similarity = [], [], []
    mark = np.zeros(matrix.shape[1], dtype=np.int32)
    for i, others in _candidates(prefix):
        low, high = np.minimum(sizes[others], sizes[i]), np.maximum(sizes[others], sizes[i])
        others = others[low >= threshold * high * (1 - 1e-9)]
        if not len(others):
            continue
        own = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        mark[own] = 1
        overlap = matrix[others] @ mark
        mark[own] = 0
        jaccard = overlap / (sizes[i] + sizes[others] - overlap)
        keep = jaccard >= threshold
        left.append(np.full(keep.sum(), i, dtype=np.int64))
        right.append(others[keep].astype(np.int64))
        similarity.append(jaccard[keep])
    if not left:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    return np.concatenate(left), np.concatenate(right), np.concatenate(similarity)


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Jaccard similarity of two sorted sets of hashes; 0 where both are empty."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    total = len(one) + len(other) - shared
    return shared / total if total else 0.0


def expand(near: Mapping[str, Sequence[str]], groups: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """skill_id -> itself, its equals and its near copies; skills without any are left out."""
    members: dict[str, set[str]] = {}
    for skill, group in groups.items():
        members.setdefault(group, set()).add(skill)
    skills = {*groups, *near}
    return {s: frozenset({s, *near.get(s, ()), *members.get(groups.get(s, ""), ())}) for s in skills}


@lru_cache(maxsize=1 << 18)
def _word_hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _shared_elements(sets: Sequence[np.ndarray]) -> Any:
    """(N, M) binary CSR of the elements that occur in two sets or more, columns from the rarest to the commonest."""
    from scipy.sparse import csr_array

    everything = np.concatenate([np.empty(0, dtype=np.uint64), *sets])
    ordered = np.sort(everything)
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, dtype=np.int64)
    counts = np.diff(np.r_[first, len(ordered)])
    repeated, counts = ordered[first[counts > 1]], counts[counts > 1]
    del ordered, first
    column_of = np.empty(len(repeated), dtype=np.int32)
    column_of[np.argsort(counts, kind="stable")] = np.arange(len(repeated), dtype=np.int32)
    ends = np.cumsum([len(s) for s in sets])
    rows, columns = [], []
    for start in range(0, len(everything) if len(repeated) else 0, _BLOCK):
        block = everything[start : start + _BLOCK]
        at = np.minimum(np.searchsorted(repeated, block), len(repeated) - 1)
        hit = np.flatnonzero(repeated[at] == block)
        columns.append(column_of[at[hit]])
        rows.append(np.searchsorted(ends, start + hit, side="right").astype(np.int32))
    row = np.concatenate([np.empty(0, dtype=np.int32), *rows])
    column = np.concatenate([np.empty(0, dtype=np.int32), *columns])
    matrix = csr_array((np.ones(len(row), dtype=np.int32), (row, column)), shape=(len(sets), len(repeated)))
    matrix.sort_indices()
    return matrix


def _prefixes(matrix: Any, sizes: np.ndarray, threshold: float) -> Any:
    """The rarest elements of each set that a similar set must share one of; those that occur once are rarer still."""
    from scipy.sparse import csr_array

    shared = np.diff(matrix.indptr)
    length = sizes - np.ceil(threshold * sizes - 1e-9).astype(np.int64) + 1
    keep = np.clip(length - (sizes - shared), 0, shared)
    place = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], shared)
    chosen = place < np.repeat(keep, shared)
    indptr = np.r_[0, np.cumsum(keep)]
    return csr_array((matrix.data[chosen], matrix.indices[chosen], indptr), shape=matrix.shape)


def _candidates(prefix: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (i, all j > i that share a prefix element), from sparse products of bounded size."""
    transposed = prefix.T.tocsr()
    work = prefix @ np.diff(transposed.indptr).astype(np.int64)  # (N,) how many products each row takes part in
    start = 0
    while start < prefix.shape[0]:
        stop = start + max(1, int(np.searchsorted(np.cumsum(work[start:]), _BLOCK, side="right")))
        product = prefix[start:stop] @ transposed
        for row in range(product.shape[0]):
            found = product.indices[product.indptr[row] : product.indptr[row + 1]]
            found = np.sort(found[found > start + row])
            if len(found):
                yield start + row, found
        start = stop
