"""Normalised rank score: where does a performance stand among those of all candidate skills, from 0 to 100?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skillfit.errors import UserError
from skillfit.metrics.samples import Floats, sample


def rank_curve(performance: ArrayLike, skill_ids: Sequence[str] | None = None) -> tuple[Floats, Floats]:
    """The distinct performances, ascending, and 100 x their zero-based average rank / (n - 1), both (distinct,).

    The rank scores are all 50 where all skills perform alike, and NaN for n = 1. Raises UserError for NaN or no skill.
    """
    values = sample(performance, "performance", skill_ids)
    if not len(values):
        raise UserError("performance", fix="is empty; at least one skill is needed")
    levels, counts = np.unique(values, return_counts=True)
    ranks = np.cumsum(counts) - (counts + 1) / 2
    return levels, 100 * ranks / (len(values) - 1) if len(values) > 1 else np.full(1, np.nan)


def rank_scores(performance: ArrayLike, values: ArrayLike, skill_ids: Sequence[str] | None = None) -> Floats:
    """The rank scores of some values, by linear interpolation between the neighbouring observed performances.

    A function of the value alone, so equal means have equal scores (MCRI, arXiv 2610.01506, Tables 11-15: 84 of 86
    cells). Values outside the observed range get the rank score of its end. Same shape as `values`. Raises UserError
    for NaN.
    """
    levels, scores = rank_curve(performance, skill_ids)
    asked = np.asarray(values, dtype=np.float64)
    sample(asked.ravel(), "value")
    found: Floats = np.interp(asked, levels, scores)
    return found


def rank_score(performance: ArrayLike, value: float, skill_ids: Sequence[str] | None = None) -> float:
    """`rank_scores` of one value: the unrounded mean of a Top-k set, or of the runs without a skill (Table 12)."""
    return float(rank_scores(performance, np.asarray([value]), skill_ids)[0])


def gain_over_strongest(method: float, baselines: Sequence[float]) -> float:
    """A method's Top-1 rank score minus the best baseline's, in percentile points (the gains of MCRI's abstract).

    The abstract's baselines are the two other judges, not the popularity selectors. Raises UserError without one.
    """
    if not len(baselines):
        raise UserError("gain", "baselines", "[]", "name at least one baseline")
    return float(method - max(baselines))
