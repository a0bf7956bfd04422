"""Reciprocal rank fusion against the formula."""

from __future__ import annotations

import pytest

from skillfit.errors import UserError
from skillfit.search.hybrid import HybridRetriever, reciprocal_rank_fusion, score_fusion
from skillfit.types import Ranking, Run


def test_up49_fusion_follows_the_formula():
    """Dense: X, a, Y. Keyword: b, c, Y. With k=60 and ranks from 1, Y comes first."""
    dense, keyword = Run.from_order({"q": ["X", "a", "Y"]}), Run.from_order({"q": ["b", "c", "Y"]})
    fused = reciprocal_rank_fusion([dense, keyword], [0.5, 0.5])
    assert fused.ranked("q") == ("Y", "X", "b", "a", "c")  # ties by skill_id: X and b share 1/61, a and c share 1/62
    assert fused["q"].scores[0] == pytest.approx(0.5 / 63 + 0.5 / 63)
    assert fused["q"].scores[1] == pytest.approx(0.5 / 61)


def test_up49_the_constant_and_the_weights_are_options():
    first, second = Run.from_order({"q": ["a", "b"]}), Run.from_order({"q": ["b", "a"]})
    assert reciprocal_rank_fusion([first, second], [0.6, 0.4]).ranked("q") == ("a", "b")
    assert reciprocal_rank_fusion([first, second], [0.4, 0.6]).ranked("q") == ("b", "a")
    assert reciprocal_rank_fusion([first], [1.0], constant=1)["q"].scores[0] == pytest.approx(0.5)


def test_the_top_of_a_deep_fusion_equals_a_shallow_one():
    first = Run.from_order({"q": list("abcdefgh")})
    second = Run.from_order({"q": list("hgfedcba")})
    deep = reciprocal_rank_fusion([first, second], [1.0, 1.0])
    assert reciprocal_rank_fusion([first, second], [1.0, 1.0], depth=3).ranked("q") == deep.ranked("q")[:3]


def test_a_query_that_only_one_run_answers_keeps_its_order():
    fused = reciprocal_rank_fusion([Run.from_order({"q": ["b", "a"]}), Run.from_order({"r": ["c"]})], [1.0, 1.0])
    assert fused.ranked("q") == ("b", "a")
    assert fused.ranked("r") == ("c",)


@pytest.mark.parametrize(
    "weights", [{"x": 1.0}, {"lexical": -1.0, "dense": 1.0}, {"lexical": float("nan"), "dense": 1.0}]
)
def test_wrong_weights_are_refused_by_name(weights):
    with pytest.raises(UserError, match=r"retriever\.weights"):
        HybridRetriever(parts={"lexical": object(), "dense": object()}, weights=weights)


def scored(**scores: float) -> Run:
    return Run.from_scores({"q": scores.items()})


def test_scores_of_a_cut_ranking_are_scaled_between_its_first_and_its_last():
    dense, keyword = scored(a=0.9, b=0.8, c=0.5), scored(b=12.0, d=6.0, a=4.0)
    fused = score_fusion([dense, keyword], [1.0, 0.5], [3, 3])
    assert dict(zip(fused.ranked("q"), fused["q"].scores, strict=True)) == pytest.approx(
        {"b": 0.3 / 0.4 + 0.5, "a": 1.0, "d": 0.5 * 2 / 8, "c": 0.0}
    )
    assert fused.ranked("q") == ("b", "a", "d", "c")


def test_a_ranking_shorter_than_its_depth_is_scaled_from_zero():
    """What BM25 does not return scored 0, so a second hit close to the first keeps its worth."""
    fused = score_fusion([scored(a=5.0, b=4.0)], [1.0], [100])
    assert fused["q"].scores == pytest.approx((1.0, 0.8))
    assert score_fusion([scored(a=0.5, b=-0.5)], [1.0], [100])["q"].scores == pytest.approx((1.0, 0.0))


def test_equal_scores_and_empty_rankings_are_defined():
    fused = score_fusion([scored(a=2.0, b=2.0), Run({"q": Ranking((), ())})], [1.0, 1.0], [2, 2])
    assert (fused.ranked("q"), fused["q"].scores) == (("a", "b"), (1.0, 1.0))


def test_scaling_a_run_changes_nothing():
    first, second = scored(a=3.0, b=2.0, c=1.0), scored(c=9.0, a=4.0)
    louder = Run({"q": Ranking(second.ranked("q"), tuple(10 * score for score in second["q"].scores))})
    plain, loud = (score_fusion([first, run], [0.5, 0.5], [3, 5]) for run in (second, louder))
    assert plain.ranked("q") == loud.ranked("q")
    assert plain["q"].scores == pytest.approx(loud["q"].scores)
