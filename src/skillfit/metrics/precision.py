"""Precision@k: which share of the first k is required?"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from skillfit.metrics.checks import check_arguments


def precision(ranked: Sequence[str], required: AbstractSet[str], k: int) -> float:
    """Required skills in the top k, over k, also when fewer than k skills are listed (SkillRouter, arXiv 2603.22455,
    and its evaluation rules; equal to trec_eval's P).

    Ties were broken by Run. A repeated id, which Run refuses, would be counted at each place, as SkillRouter's scorer
    does. An empty ranking scores 0. Raises ValueError for an empty `required` or k < 1.
    """
    check_arguments(required, k)
    return sum(skill in required for skill in ranked[:k]) / k
