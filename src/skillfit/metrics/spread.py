"""Stability of scores over repeats, and the averages and reductions that tables print below them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skillfit.errors import UserError
from skillfit.metrics.samples import Floats, sample


def repeat_sds(scores: ArrayLike, ddof: int = 1, skill_ids: Sequence[str] | None = None) -> Floats:
    """The standard deviation of each skill's scores over repeats: (skills, repeats) -> (skills,).

    ddof = 1 is the sample's, 0 the population's; MCRI (arXiv 2610.01506, Tables 8 and 9) does not say which it prints.
    Fewer than ddof + 1 repeats give NaN. Raises UserError for NaN, naming the skill.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise UserError("repeats", "shape", table.shape, "give one row a skill and one column a repeat")
    sample(table.sum(axis=1), "repeats", skill_ids)
    if table.shape[1] <= ddof:
        return np.full(len(table), np.nan)
    spread: Floats = table.std(axis=1, ddof=ddof)
    return spread


def pooled_mean(values: ArrayLike, counts: ArrayLike | None = None) -> float:
    """The mean of values, each weighted by its count (of queries, skills or runs); equal weights without counts.

    NaN without any value. Raises UserError for NaN, a negative count, counts that are all 0 or of another length.
    """
    found = sample(values, "values")
    if counts is None:
        return float(found.mean()) if len(found) else float("nan")
    weights = sample(counts, "counts")
    if len(weights) != len(found):
        raise UserError("counts", "length", len(weights), f"there are {len(found)} values; give one count a value")
    if (weights < 0).any() or not weights.sum() > 0:
        raise UserError("counts", value=weights.tolist(), fix="use numbers >= 0, at least one above 0")
    return float(found @ weights / weights.sum())


def relative_reduction(value: float, reference: float) -> float:
    """100 (1 - value / reference): by how many percent is a spread below another (MCRI, Table 9)?

    NaN for a reference of 0.
    """
    return 100 * (1 - value / reference) if reference else float("nan")
