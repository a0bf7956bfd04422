"""Pairs: no right answer is ever a negative."""

from __future__ import annotations

from skillfit.data.examples import pairs_from
from skillfit.types import Qrels, Query

QUERIES = [Query("q1", "one"), Query("q2", "two"), Query("q3", "three"), Query("none", "nothing")]
QRELS = Qrels({"q1": frozenset({"a", "b"}), "q2": frozenset({"b"}), "q3": frozenset({"c"}), "none": frozenset()})


def test_one_pair_a_required_skill_and_none_for_a_query_that_needs_none():
    pairs = pairs_from(QUERIES, QRELS, {})
    assert [(p.query_id, p.skill_id) for p in pairs] == [("q1", "a"), ("q1", "b"), ("q2", "b"), ("q3", "c")]


def test_up01_all_right_answers_of_a_query_are_known_to_each_of_its_pairs():
    pairs = pairs_from(QUERIES, QRELS, {})
    assert [pair.answers for pair in pairs] == [{"a", "b"}, {"a", "b"}, {"b"}, {"c"}]


def test_copies_of_the_right_skill_are_answers_too():
    pairs = pairs_from(QUERIES, QRELS, {"c": frozenset({"c", "a"})})
    assert pairs[3].answers == {"a", "c"}
