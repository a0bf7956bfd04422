"""Top-k performance: how good are the k best-scored skills on average?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skillfit.errors import UserError
from skillfit.metrics.samples import Floats, paired_samples


def top_k_mean(scores: ArrayLike, performance: ArrayLike, k: int, skill_ids: Sequence[str] | None = None) -> float:
    """Mean performance of the k best-scored skills; skills tied at the cut share the remaining places equally.

    That is the expected value if ties were broken by chance (MCRI, arXiv 2610.01506, Tables 11 and 13-15). Scores are
    compared as they are, unrounded. k > n counts as n; equal scores give the overall mean; no skill gives NaN. Raises
    UserError for k < 1, and for NaN, naming the skill.
    """
    return float(top_k_means(scores, performance, [k], skill_ids)[0])


def top_k_means(
    scores: ArrayLike, performance: ArrayLike, ks: Sequence[int], skill_ids: Sequence[str] | None = None
) -> Floats:
    """`top_k_mean` for several k at the price of one sort, (len(ks),)."""
    first, second = paired_samples(scores, performance, skill_ids)
    places = np.asarray(ks, dtype=np.int64)
    if (places < 1).any():
        raise UserError("Top-k", "k", int(places[places < 1][0]), "use an integer >= 1")
    if not len(first):
        return np.full(len(places), np.nan)
    places = np.minimum(places, len(first))
    _, group = np.unique(-first, return_inverse=True)  # groups of equal score, best first
    sizes, sums = np.bincount(group), np.bincount(group, weights=second)
    ends, totals = np.cumsum(sizes), np.cumsum(sums)
    crossing = np.searchsorted(ends, places)  # the group that holds the last place
    whole_skills, whole_sum = (ends - sizes)[crossing], (totals - sums)[crossing]
    means: Floats = (whole_sum + (places - whole_skills) * sums[crossing] / sizes[crossing]) / places
    return means
