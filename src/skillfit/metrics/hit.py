"""Hit@k: is any required skill among the first k?"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from skillfit.metrics.checks import check_arguments


def hit(ranked: Sequence[str], required: AbstractSet[str], k: int) -> float:
    """1 if any required skill is in the top k, else 0 (SkillRouter, arXiv 2603.22455, and its evaluation rules).

    Any one of several required skills counts. Ties were broken by Run. A ranking that is empty or shorter than k is
    judged by what it holds. Raises ValueError for an empty `required` or k < 1.
    """
    check_arguments(required, k)
    return float(any(skill in required for skill in ranked[:k]))
