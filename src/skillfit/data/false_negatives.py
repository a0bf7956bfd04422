"""Candidates that are answers in disguise: copies, same names, same bodies and same vectors of a query's positives."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.copies import jaccard, shingle_hashes
from skillfit.errors import UserError

if TYPE_CHECKING:
    from skillfit.data.corpus import Corpus

LAYERS = ("copies", "same_name", "trigrams", "cosine")
WIDTH = 3  # words a shingle: the trigrams of SkillRouter's filter
_KEPT_PROFILES = 16_384  # at some 8 KB of hashes a skill, 130 MB
_SEPARATORS = re.compile(r"[\s_\-./:]+")


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class FilterOptions:
    """SkillRouter's three layers behind the corpus's own copies; a number is exceeded by what is removed.

    copies: equal and near-equal bodies that the import found. trigrams: Jaccard similarity of the bodies' word
    trigrams. cosine: of the pool's vectors, where there are any. False or null switches a layer off.
    """

    copies: bool = True
    same_name: bool = True
    trigrams: float | None = Field(default=0.6, gt=0, le=1)
    cosine: float | None = Field(default=0.92, ge=-1, le=1)

    def wanted(self) -> tuple[str, ...]:
        """The layers that are switched on, in their order."""
        on = (self.copies, self.same_name, self.trigrams is not None, self.cosine is not None)
        return tuple(layer for layer, is_on in zip(LAYERS, on, strict=True) if is_on)


class _Profile(NamedTuple):
    name: str
    shingles: np.ndarray


class FalseNegativeFilter:
    """Says which layers take a candidate for an answer. Bodies are read when asked for, and kept only as hashes.

    vectors: (N, H) of the pool in storage order; without them the cosine layer is off (`layers` tells what is on).
    Raises UserError for vectors of another length than the corpus.
    """

    def __init__(self, corpus: Corpus, options: FilterOptions, vectors: np.ndarray | None = None) -> None:
        if vectors is not None and len(vectors) != len(corpus):
            raise UserError("filter", "vectors", len(vectors), f"give one vector for each of the {len(corpus)} skills")
        self._corpus, self._options, self._vectors = corpus, options, vectors
        self.layers = tuple(layer for layer in options.wanted() if layer != "cosine" or vectors is not None)
        self._copies = corpus.copies() if "copies" in self.layers else {}
        self._position = {skill: i for i, skill in enumerate(corpus.ids)} if "cosine" in self.layers else {}
        self._profile = lru_cache(maxsize=_KEPT_PROFILES)(self._read)

    def objections(self, skill_id: str, positives: Collection[str]) -> tuple[str, ...]:
        """The layers, in their order, by which a skill looks like one of the positives; none if it may be a negative.

        All layers are asked, so that each layer's total can be told beside what the first one removed.
        """
        tests = {
            "copies": self._is_copy,
            "same_name": self._has_same_name,
            "trigrams": self._has_same_body,
            "cosine": self._has_same_vector,
        }
        return tuple(layer for layer in self.layers if any(tests[layer](skill_id, other) for other in positives))

    def _read(self, skill_id: str) -> _Profile:
        skill = self._corpus.get(skill_id)
        words = skill.body.lower().split() if self._options.trigrams is not None else []
        return _Profile(normalised_name(skill.name), shingle_hashes(words, WIDTH))

    def _is_copy(self, skill_id: str, other: str) -> bool:
        return skill_id in self._copies.get(other, ()) or other in self._copies.get(skill_id, ())

    def _has_same_name(self, skill_id: str, other: str) -> bool:
        name = self._profile(skill_id).name
        return bool(name) and name == self._profile(other).name

    def _has_same_body(self, skill_id: str, other: str) -> bool:
        threshold = self._options.trigrams or 0.0
        one, two = self._profile(skill_id).shingles, self._profile(other).shingles
        if min(len(one), len(two)) <= threshold * max(len(one), len(two)):
            return False  # sets of such different sizes cannot be more similar, and most pairs end here
        return jaccard(one, two) > threshold

    def _has_same_vector(self, skill_id: str, other: str) -> bool:
        assert self._vectors is not None
        assert self._options.cosine is not None
        one, two = (np.asarray(self._vectors[self._position[i]], dtype=np.float64) for i in (skill_id, other))
        norms = float(np.linalg.norm(one) * np.linalg.norm(two))
        return norms > 0 and float(one @ two) / norms > self._options.cosine


def normalised_name(name: str) -> str:
    """A name without case and separators: `PDF Tools`, `pdf-tools` and `pdf_tools` are one; `c++` and `c` are two."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", name).casefold())
