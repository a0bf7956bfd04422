"""Pairs and their collation: no right answer is ever a negative."""

from __future__ import annotations

import torch

from skillfit.data.collate import RetrieverCollate
from skillfit.data.datamodule import EpochSampler
from skillfit.data.examples import pairs_from
from skillfit.types import Qrels, Query

QUERIES = [Query("q1", "one"), Query("q2", "two"), Query("q3", "three"), Query("none", "nothing")]
QRELS = Qrels({"q1": frozenset({"a", "b"}), "q2": frozenset({"b"}), "q3": frozenset({"c"}), "none": frozenset()})
SKILL_TEXTS = {skill: f"text {skill}" for skill in "abcd"}


def batch_of(pairs):
    texts = {query.query_id: query.text for query in QUERIES}
    return RetrieverCollate(texts, SKILL_TEXTS, lambda t: {"texts": t}, lambda t: {"texts": t})(pairs)


def test_one_pair_a_required_skill_and_none_for_a_query_that_needs_none():
    pairs = pairs_from(QUERIES, QRELS, {})
    assert [(p.query_id, p.skill_id) for p in pairs] == [("q1", "a"), ("q1", "b"), ("q2", "b"), ("q3", "c")]


def test_up01_the_second_right_answer_is_never_a_negative():
    batch = batch_of(pairs_from(QUERIES, QRELS, {}))
    assert batch.documents["texts"] == ["text a", "text b", "text c"]  # b is encoded once for its two queries
    assert batch.positive.tolist() == [0, 1, 1, 2]
    expected = [[False, True, False], [True, False, False], [False, False, False], [False, False, False]]
    assert batch.mask.tolist() == expected


def test_a_copy_of_the_right_skill_is_never_a_negative():
    pairs = pairs_from(QUERIES, QRELS, {"c": frozenset({"c", "a"})})
    batch = batch_of(pairs)
    row = batch.mask[3].tolist()
    assert row == [True, False, False]


def test_the_positive_is_never_masked_in_any_batch():
    batch = batch_of(pairs_from(QUERIES, QRELS, {"a": frozenset({"a", "b", "c"})}))
    assert not batch.mask.gather(1, batch.positive.unsqueeze(1)).any()


def test_the_order_of_an_epoch_depends_on_seed_and_epoch_alone():
    def order(seed: int, epoch: int) -> list[int]:
        sampler = EpochSampler(50, seed)
        sampler.set_epoch(epoch)
        torch.rand(3)  # another random stream changes nothing
        return list(sampler)

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1) != order(2, 1)
    assert sorted(order(1, 5)) == list(range(50))
