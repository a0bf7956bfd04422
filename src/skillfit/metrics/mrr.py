"""MRR@k: how high is the first required skill?"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from skillfit.metrics.checks import check_arguments


def reciprocal_rank(ranked: Sequence[str], required: AbstractSet[str], k: int) -> float:
    """1/rank of the first required skill within the top k, else 0; its mean over queries is MRR@k.

    The cut at k is SkillRouter's (arXiv 2603.22455, evaluation rules). Ties were broken by Run. An empty ranking
    scores 0. With one required skill it equals average precision at k. Raises ValueError for an empty `required` or
    k < 1.
    """
    check_arguments(required, k)
    return next((1.0 / rank for rank, skill in enumerate(ranked[:k], start=1) if skill in required), 0.0)
