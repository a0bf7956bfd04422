"""What a kind of negatives may be taken from, in the order it is looked at: a window of a run, or skills by chance."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.io.files import hash_text
from skillfit.types import Ranking

DRAWS = ("same_category", "other_category", "random")  # kinds that need no run


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class KindOptions:
    """How many negatives of one kind a query gets, and which part of a run they may come from.

    run: the run's name, by default the kind's own. window: first and last rank, from 1, both included; null is the
    whole ranking. margin: how far below the positive's score a candidate must lie. max_ratio: which share of the
    positive's score it may reach. take: the best of the window first, or a seeded sample of it. unranked: whether a
    query is mined without score limits (`keep`) or not at all (`skip`) where the run ranks none of its positives.
    """

    count: int = Field(ge=0)
    run: str | None = None
    window: tuple[int, int] | None = None
    margin: float | None = Field(default=None, ge=0)
    max_ratio: float | None = Field(default=None, gt=0, le=1)
    take: Literal["best", "sample"] = "best"
    unranked: Literal["keep", "skip"] = "keep"

    @property
    def limited(self) -> bool:
        """Whether scores decide about candidates."""
        return self.margin is not None or self.max_ratio is not None


class Candidate(NamedTuple):
    """A skill that may become a negative; rank and score are those in the run, None for one found by chance."""

    skill_id: str
    rank: int | None = None
    score: float | None = None


def in_window(ranking: Ranking, options: KindOptions, rng: np.random.Generator) -> Iterator[Candidate]:
    """The candidates of a ranking's window, best first or in random order. rng: used for a sample only."""
    first, last = options.window or (1, len(ranking))
    ranks = range(first, min(last, len(ranking)) + 1)
    order = shuffled(len(ranks), rng) if options.take == "sample" else range(len(ranks))
    for i in order:
        rank = ranks[i]
        yield Candidate(ranking.skill_ids[rank - 1], rank, ranking.scores[rank - 1])


def score_limit(ranking: Ranking, options: KindOptions, positives: Collection[str]) -> float | None:
    """The highest score a candidate may have; None if there is no limit or the ranking has none of the positives.

    Of several positives the lowest-scored one counts, so the limit holds for each of them. A ratio shrinks a negative
    score's distance to 0 in the same direction: 0.95 of -1 is -1.05.
    """
    scores = [s for skill, s in zip(ranking.skill_ids, ranking.scores, strict=True) if skill in positives]
    if not scores or not options.limited:
        return None
    lowest = min(scores)
    limits = [] if options.margin is None else [lowest - options.margin]
    if options.max_ratio is not None:
        limits.append(lowest - (1 - options.max_ratio) * abs(lowest))
    return min(limits)


def shuffled(count: int, rng: np.random.Generator) -> Iterator[int]:
    """0 to count - 1 in random order, made as far as it is asked for: a few draws of 80,000 cost a few steps."""
    moved: dict[int, int] = {}
    for i in range(count):
        j = int(rng.integers(i, count))
        yield moved.get(j, j)
        moved[j] = moved.pop(i, i)  # what stood at i moves to the place that was drawn


def generator(seed: int, *names: str) -> np.random.Generator:
    """A generator for one query and purpose: the same in every process and whatever is asked before."""
    return np.random.default_rng(int(hash_text(str(seed), *names)[:32], 16))
