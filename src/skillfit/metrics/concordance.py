"""C-index: of two skills that perform differently, how often does the better one have the higher score?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skillfit.metrics.samples import Floats, paired_samples


def c_index(scores: ArrayLike, performance: ArrayLike, skill_ids: Sequence[str] | None = None) -> float:
    """(concordant + half the pairs with equal scores) / pairs with different performance (Harrell et al. 1982).

    Pairs of equal performance are left out of both counts (MCRI, arXiv 2610.01506, Tables 5-15; equal to (1 + Somers' D
    of the scores given the performance) / 2). O(n log n). No comparable pair: NaN. Constant scores: exactly 0.5. Raises
    UserError for NaN, naming the skill.
    """
    first, second = paired_samples(scores, performance, skill_ids)
    pairs = len(first) * (len(first) - 1) // 2
    comparable = pairs - _tied_pairs(second)
    if comparable == 0:
        return float("nan")
    return 0.5 + _concordant_minus_discordant(first, second, pairs, comparable) / (2 * comparable)


def _concordant_minus_discordant(scores: Floats, performance: Floats, pairs: int, comparable: int) -> int:
    """Exact, from tau-b = (C - D) / sqrt(pairs untied in scores * pairs untied in performance), which scipy counts in
    O(n log n); the product is off its integer by no more than rounding.
    """
    from scipy.stats import kendalltau

    untied = pairs - _tied_pairs(scores)
    if untied == 0:
        return 0
    if pairs == 1:  # scipy's p-value divides by n - 2
        return 1 if (scores[0] < scores[1]) == (performance[0] < performance[1]) else -1
    tau = float(kendalltau(scores, performance, variant="b", method="asymptotic").statistic)
    return round(tau * math.sqrt(untied) * math.sqrt(comparable))


def _tied_pairs(values: Floats) -> int:
    counts = np.unique(values, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())
