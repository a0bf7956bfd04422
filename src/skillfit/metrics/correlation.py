"""Spearman's rank correlation, its p-value, and the marks that tables print beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skillfit.errors import UserError
from skillfit.metrics.samples import Floats, paired_samples

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
NOT_SIGNIFICANT = "ns"


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rho over n skills, with its two-sided p-value; either is NaN where it is undefined."""

    rho: float
    p_value: float
    n: int


def spearman(scores: ArrayLike, performance: ArrayLike, skill_ids: Sequence[str] | None = None) -> Correlation:
    """Pearson's correlation of average ranks (equal to scipy's `spearmanr`).

    rho is NaN for n < 2 or a constant sample, p for n < 3. Raises UserError for NaN, naming the skill.
    """
    first, second = paired_samples(scores, performance, skill_ids)
    rho = _rho(first, second)
    return Correlation(rho, spearman_p_value(rho, len(first)), len(first))


def spearman_p_value(rho: float, n: int) -> float:
    """Two-sided p of rho over n skills, from t = rho sqrt((n - 2) / (1 - rho^2)) with n - 2 degrees of freedom.

    NaN for n < 3 or a NaN rho; 0 for |rho| = 1. Reproduces the p-values of MCRI (arXiv 2610.01506), Tables 5-15. Raises
    ValueError for |rho| > 1 or a negative n.
    """
    if n < 0 or abs(rho) > 1:
        raise ValueError(f"rho = {rho}, n = {n}: use rho in [-1, 1] and n >= 0")
    if math.isnan(rho) or n < 3:
        return float("nan")
    if abs(rho) == 1:
        return 0.0
    from scipy.stats import t

    return float(2 * t.sf(abs(rho) * math.sqrt((n - 2) / (1 - rho * rho)), n - 2))


def significance_mark(p_value: float) -> str:
    """`***` below .001, `**` below .01, `*` below .05, else `ns` (MCRI, Table 2); empty for an undefined p-value.

    Raises UserError for a number outside [0, 1].
    """
    if math.isnan(p_value):
        return ""
    if not 0 <= p_value <= 1:
        raise UserError("significance mark", "p_value", p_value, "use a number in [0, 1]")
    return next((mark for bound, mark in MARKS if p_value < bound), NOT_SIGNIFICANT)


def _rho(first: Floats, second: Floats) -> float:
    if len(first) < 2 or (first == first[0]).all() or (second == second[0]).all():
        return float("nan")
    from scipy.stats import rankdata

    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    return float(np.clip((a @ b) / math.sqrt((a @ a) * (b @ b)), -1.0, 1.0))
