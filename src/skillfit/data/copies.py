"""Copies in a corpus: skills whose bodies are equal, and skills whose bodies share most of their wording."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from skillfit.errors import UserError

WIDTH = 5  # words a shingle, as in the benchmark's own list of near duplicates
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so no information of a word's hash is lost when it is multiplied
MOST_PAIRS = 10_000_000  # a pool of nearly equal bodies has quadratically many pairs, which no memory holds
_BIN_BITS = 24
_BINS = 1 << _BIN_BITS
_BLOCK = 4_000_000  # candidate products formed at a time


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

    sets: sorted distinct uint64. Two sets that similar share one of the first elements of each in any order common to
    all sets (prefix filter: Bayardo et al. 2007, Xiao et al. 2008); with the rarest first, few pairs are left to be
    compared. Raises UserError for over MOST_PAIRS.
    """
    sizes = np.array([len(s) for s in sets], dtype=np.int64)
    left, right, similarity, count = [], [], [], 0
    for i, others in _candidates(_prefixes(sets, threshold)):
        low, high = np.minimum(sizes[others], sizes[i]), np.maximum(sizes[others], sizes[i])
        others = others[low >= threshold * high * (1 - 1e-9)]
        if not len(others):
            continue
        overlap = _overlaps(sets[i], [sets[j] for j in others])
        jaccard = overlap / (sizes[i] + sizes[others] - overlap)
        keep = jaccard >= threshold
        count += int(keep.sum())
        if count > MOST_PAIRS:
            fix = f"over {MOST_PAIRS:,} pairs of bodies are this similar; raise the threshold or set near_copies=null"
            raise UserError("import", "near_copies", threshold, fix)
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


def _prefixes(sets: Sequence[np.ndarray], threshold: float) -> Any:
    """(N, M) binary CSR of the elements of each set of which a similar set must share one.

    The order is by (count of the element's bin, element). Bins only ever overstate how often an element occurs, so an
    element alone in its bin is in no other set and can be left out.
    """
    from scipy.sparse import csr_array

    bins = np.zeros(_BINS, dtype=np.int32)
    for elements in sets:
        np.add.at(bins, _bin(elements), 1)
    chosen, lengths = [np.empty(0, dtype=np.uint64)], np.zeros(len(sets) + 1, dtype=np.int64)
    for row, elements in enumerate(sets):
        counts = bins[_bin(elements)]
        length = len(elements) - int(np.ceil(threshold * len(elements) - 1e-9)) + 1 if len(elements) else 0
        first = np.argsort(counts, kind="stable")[:length]
        chosen.append(elements[first[counts[first] > 1]])
        lengths[row + 1] = len(chosen[-1])
    _, columns = np.unique(np.concatenate(chosen), return_inverse=True)
    shape = (len(sets), int(columns.max()) + 1 if len(columns) else 0)
    return csr_array((np.ones(len(columns), dtype=np.int32), columns.astype(np.int32), np.cumsum(lengths)), shape=shape)


def _bin(elements: np.ndarray) -> np.ndarray:
    return (elements >> np.uint64(64 - _BIN_BITS)).astype(np.int64)


def _overlaps(elements: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """(len(others),) how many elements each of the other sets shares with the first; none of them is empty."""
    joined = np.concatenate(others)
    at = np.minimum(np.searchsorted(elements, joined), len(elements) - 1)
    starts = np.cumsum([0, *(len(other) for other in others[:-1])])
    return np.add.reduceat((elements[at] == joined).astype(np.int64), starts)


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
