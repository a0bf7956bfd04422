"""FC@k: are all required skills among the first k?"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from skillfit.metrics.checks import check_arguments


def full_coverage(ranked: Sequence[str], required: AbstractSet[str], k: int) -> float:
    """1 if every required skill is in the top k, else 0 (SkillRouter, arXiv 2603.22455, and its evaluation rules;
    SkillRet calls it Completeness@k).

    With one required skill it equals Hit@k and Recall@k; with more than k it is 0. Ties were broken by Run. An empty
    ranking scores 0. Raises ValueError for an empty `required` (of which every list would be a cover) or k < 1.
    """
    check_arguments(required, k)
    return float(required <= set(ranked[:k]))
