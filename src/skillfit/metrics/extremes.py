"""Can a score tell the skills at one end of an outcome from those at the other?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skillfit.errors import UserError
from skillfit.metrics.concordance import c_index
from skillfit.metrics.samples import paired_samples


@dataclass(frozen=True, slots=True)
class Extremes:
    """AUC, accuracy and F1 of the high class, the counts of both classes and the score above which `high` is said."""

    auc: float
    accuracy: float
    f1: float
    n_high: int
    n_low: int
    cut: float


def extreme_classes(
    scores: ArrayLike, outcome: ArrayLike, share: float = 0.15, skill_ids: Sequence[str] | None = None
) -> Extremes:
    """Separate the skills in the top `share` of the outcome from those in the bottom one by their scores alone.

    A class is all skills at least (at most) as good as the one at place ceil(share n), ties included; those in both are
    left out. AUC: high above low, equal scores half. Accuracy and F1 call a skill high above the median score of the
    two classes, our choice as MCRI (arXiv 2610.01506, Table 4) does not say. NaN if a class is empty. Raises UserError
    for a share outside (0, 0.5], and for NaN.
    """
    if not 0 < share <= 0.5:
        raise UserError("extremes", "share", share, "use a number in (0, 0.5]")
    first, second = paired_samples(scores, outcome, skill_ids)
    places = math.ceil(share * len(second) - 1e-9)
    if not places:
        return Extremes(math.nan, math.nan, math.nan, 0, 0, math.nan)
    ordered = np.sort(second)
    is_high, is_low = second >= ordered[-places], second <= ordered[places - 1]
    chosen = is_high != is_low
    truth, values = is_high[chosen], first[chosen]
    n_high, n_low = int(truth.sum()), int((~truth).sum())
    if not n_high or not n_low:
        return Extremes(math.nan, math.nan, math.nan, n_high, n_low, math.nan)
    cut = float(np.median(values))
    said = values > cut
    right = int((said & truth).sum())
    f1 = 2 * right / (int(said.sum()) + n_high)
    return Extremes(c_index(values, truth), float((said == truth).mean()), f1, n_high, n_low, cut)
