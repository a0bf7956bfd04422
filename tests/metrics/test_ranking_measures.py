"""Each measure by hand: ties, short lists, several required skills, empty cases."""

from __future__ import annotations

import math

import pytest

from skillfit.metrics.full_coverage import full_coverage
from skillfit.metrics.hit import hit
from skillfit.metrics.mrr import reciprocal_rank
from skillfit.metrics.ndcg import ndcg
from skillfit.metrics.precision import precision
from skillfit.metrics.recall import recall
from skillfit.types import Run

LIST = ("x", "a", "y", "b", "z")
BOTH = frozenset({"a", "b"})
BINARY = [hit, reciprocal_rank, recall, full_coverage, precision]


@pytest.mark.parametrize(
    ("measure", "k", "expected"),
    [
        (hit, 1, 0.0),
        (hit, 2, 1.0),
        (reciprocal_rank, 1, 0.0),
        (reciprocal_rank, 2, 0.5),
        (reciprocal_rank, 10, 0.5),
        (recall, 1, 0.0),
        (recall, 3, 0.5),
        (recall, 4, 1.0),
        (full_coverage, 3, 0.0),
        (full_coverage, 4, 1.0),
        (precision, 2, 0.5),
        (precision, 3, 1 / 3),
        (precision, 10, 0.2),  # five listed, still over ten
    ],
)
def test_value_by_hand(measure, k, expected):
    assert measure(LIST, BOTH, k) == expected


def test_ndcg_is_linear_in_the_grade_and_cut_at_k():
    relevances = {"a": 3, "b": 1, "c": 3}
    best = 3 + 3 / math.log2(3) + 1 / 2
    assert ndcg(LIST, relevances, 10) == pytest.approx((3 / math.log2(3) + 1 / math.log2(5)) / best)
    assert ndcg(LIST, relevances, 2) == pytest.approx((3 / math.log2(3)) / (3 + 3 / math.log2(3)))
    assert ndcg(["b"], relevances, 1) == pytest.approx(1 / 3)  # a degraded copy first
    assert ndcg(["a", "c", "b"], relevances, 10) == 1.0


def test_ndcg_ignores_grade_zero_in_the_ideal():
    assert ndcg(["n", "a"], {"n": 0, "a": 1}, 5) == ndcg(["n", "a"], {"a": 1}, 5) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize("measure", [*BINARY, ndcg])
def test_empty_ranking_scores_zero(measure):
    assert measure((), {"a": 1} if measure is ndcg else {"a"}, 10) == 0.0


@pytest.mark.parametrize("measure", BINARY)
def test_query_without_required_skill_is_refused(measure):
    with pytest.raises(ValueError, match="no right answer"):
        measure(LIST, frozenset(), 10)


@pytest.mark.parametrize("relevances", [{}, {"a": 0}])
def test_ndcg_without_positive_relevance_is_refused(relevances):
    with pytest.raises(ValueError, match="no right answer"):
        ndcg(LIST, relevances, 10)


def test_negative_relevance_is_refused():
    with pytest.raises(ValueError, match="negative"):
        ndcg(LIST, {"a": 1, "b": -1}, 10)


@pytest.mark.parametrize("measure", [*BINARY, ndcg])
@pytest.mark.parametrize("k", [0, -1])
def test_cutoff_below_one_is_refused(measure, k):
    with pytest.raises(ValueError, match="cutoff"):
        measure(LIST, {"a": 1}, k)


def test_ties_are_broken_by_skill_id_before_any_measure():
    run = Run.from_scores({"q": [("c", 1.0), ("a", 1.0), ("b", 2.0), ("B", 1.0)]})
    assert run.ranked("q") == ("b", "B", "a", "c")
    assert reciprocal_rank(run.ranked("q"), {"a"}, 10) == 1 / 3
    assert hit(run.ranked("q"), {"c"}, 3) == 0.0


def test_more_required_than_places():
    required = {"a", "b", "c"}
    assert recall(["a", "b", "c"], required, 2) == pytest.approx(2 / 3)
    assert full_coverage(["a", "b", "c"], required, 2) == 0.0
    assert ndcg(["a", "b", "c"], dict.fromkeys(required, 1), 2) == 1.0  # the ideal is cut too


def test_repeats_count_as_skillrouters_scorer_counts_them():
    assert recall(["a", "a"], {"a", "b"}, 2) == 0.5
    assert precision(["a", "a"], {"a", "b"}, 2) == 1.0
    assert ndcg(["a", "a"], {"a": 1}, 2) > 1.0
