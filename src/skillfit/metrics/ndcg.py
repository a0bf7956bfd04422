"""nDCG@k: graded relevance, discounted by rank, as a share of the best possible."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from skillfit.metrics.checks import check_arguments


def ndcg(ranked: Sequence[str], relevances: Mapping[str, int], k: int) -> float:
    """DCG of the top k over the DCG of the best order, DCG = sum of relevance / log2(rank + 1): linear gain.

    The best order sorts *all* positive relevances of the query, retrieved or not, and is cut at k (SkillRouter, arXiv
    2603.22455, evaluation rules; equal to trec_eval's ndcg_cut). Unjudged skills have relevance 0. Ties were broken by
    Run. An empty ranking scores 0. A repeated id, which Run refuses, would be counted at each place, as SkillRouter's
    scorer does. Raises ValueError without a positive relevance, for a negative one, or for k < 1.
    """
    if any(relevance < 0 for relevance in relevances.values()):
        raise ValueError("a relevance is negative: use integers >= 0")
    positive = {skill: relevance for skill, relevance in relevances.items() if relevance > 0}
    check_arguments(positive, k)
    best = sorted(positive.values(), reverse=True)[:k]
    return _dcg(positive.get(skill, 0) for skill in ranked[:k]) / _dcg(best)


def _dcg(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1) if gain)
