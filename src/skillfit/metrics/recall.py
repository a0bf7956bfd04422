"""Recall@k: which share of the required skills is among the first k?"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from skillfit.metrics.checks import check_arguments


def recall(ranked: Sequence[str], required: AbstractSet[str], k: int) -> float:
    """Distinct required skills in the top k, over all required skills (SkillRouter, arXiv 2603.22455, and its
    evaluation rules; equal to trec_eval's recall).

    A repeated id counts once. Ties were broken by Run. With more than k required skills the best value is below 1.
    An empty ranking scores 0. Raises ValueError for an empty `required` or k < 1.
    """
    check_arguments(required, k)
    return len(required & set(ranked[:k])) / len(required)
