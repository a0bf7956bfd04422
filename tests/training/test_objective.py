"""The objective of a batch: what is a negative for whom, worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from skillfit.data.collate import RetrieverBatch
from skillfit.training.objective import ContrastiveObjective


def batch(**changes: object) -> RetrieverBatch:
    """Two queries, three columns: 0 and 1 are their positives, 2 was mined for the first query."""
    values: dict[str, object] = {
        "queries": [],
        "documents": [],
        "query_order": torch.arange(2),
        "document_order": torch.arange(3),
        "owner": torch.tensor([0, 1, 2]),
        "keys": torch.tensor([0, 1, 2]),
        "skills": torch.tensor([10, 11, 12]),
        "positive": torch.tensor([0, 1]),
        "answers": torch.tensor([[10, -1], [11, -1]]),
        "own": torch.tensor([[False, False, True], [False, False, False]]),
        "mined": torch.tensor([False, False, True]),
    }
    return RetrieverBatch(**{**values, **changes})  # type: ignore[arg-type]


QUERIES = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
DOCUMENTS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
# Scores: [[1, 0, 0.6], [0, 1, 0.8]]


def row(positive: float, *negatives: float, temperature: float = 1.0) -> float:
    total = sum(math.exp(x / temperature) for x in (positive, *negatives))
    return -math.log(math.exp(positive / temperature) / total)


def test_all_columns_are_candidates_of_all_queries() -> None:
    found = ContrastiveObjective(temperature=1.0)(QUERIES, DOCUMENTS, batch())
    assert found.loss.item() == pytest.approx((row(1, 0, 0.6) + row(1, 0, 0.8)) / 2)
    assert found.candidates.item() == 3


def test_temperature_divides_the_scores() -> None:
    found = ContrastiveObjective(temperature=0.5)(QUERIES, DOCUMENTS, batch())
    assert found.loss.item() == pytest.approx((row(1, 0, 0.6, temperature=0.5) + row(1, 0, 0.8, temperature=0.5)) / 2)


def test_up01_another_answer_of_a_query_is_no_negative_of_it() -> None:
    found = ContrastiveObjective(temperature=1.0)(QUERIES, DOCUMENTS, batch(answers=torch.tensor([[10, 11], [11, -1]])))
    assert found.loss.item() == pytest.approx((row(1, 0.6) + row(1, 0, 0.8)) / 2)
    assert found.candidates.item() == 2.5


def test_unshared_negatives_serve_their_own_query_alone() -> None:
    found = ContrastiveObjective(temperature=1.0, shared=False)(QUERIES, DOCUMENTS, batch())
    assert found.loss.item() == pytest.approx((row(1, 0, 0.6) + row(1, 0)) / 2)


def test_passages_of_a_skill_score_as_their_best_or_mean() -> None:
    owner = torch.tensor([0, 1, 1])
    two = batch(
        owner=owner,
        keys=torch.tensor([0, 1]),
        skills=torch.tensor([10, 11]),
        own=torch.zeros(2, 2, dtype=torch.bool),
        mined=torch.zeros(2, dtype=torch.bool),
    )
    best = ContrastiveObjective(temperature=1.0, passages="max")(QUERIES, DOCUMENTS, two)
    assert best.loss.item() == pytest.approx((row(1, 0.6) + row(1, 0)) / 2)
    mean = ContrastiveObjective(temperature=1.0, passages="mean")(QUERIES, DOCUMENTS, two)
    assert mean.loss.item() == pytest.approx((row(1, 0.3) + row(0.9, 0)) / 2)


def test_matryoshka_averages_the_losses_of_cut_embeddings() -> None:
    found = ContrastiveObjective(temperature=1.0, matryoshka=(1, 2))(QUERIES[:1], DOCUMENTS, first_row())
    # Cut to one dimension: the query is [1], documents are [1], [0], [1].
    assert found.loss.item() == pytest.approx((row(1, 0, 1) + row(1, 0, 0.6)) / 2, abs=1e-6)


def first_row() -> RetrieverBatch:
    both = batch()
    return batch(positive=both.positive[:1], answers=both.answers[:1], own=both.own[:1])


def test_distillation_adds_the_squared_error_of_margins() -> None:
    nan = math.nan
    teacher = torch.tensor([[2.0, nan, 1.0], [nan, nan, nan]])
    plain = ContrastiveObjective(temperature=1.0)(QUERIES, DOCUMENTS, batch(teacher=teacher)).loss
    found = ContrastiveObjective(temperature=1.0, distillation=0.5)(QUERIES, DOCUMENTS, batch(teacher=teacher)).loss
    assert (found - plain).item() == pytest.approx(0.5 * ((1.0 - 0.6) - (2.0 - 1.0)) ** 2)


def test_gathering_on_one_process_changes_nothing() -> None:
    queries, documents = QUERIES.clone().requires_grad_(), DOCUMENTS.clone().requires_grad_()
    losses = [
        ContrastiveObjective(temperature=0.1, gather=on, shared=shared)(queries, documents, batch()).loss
        for on in (True, False)
        for shared in (True, False)
    ]
    assert losses[0].item() == losses[2].item()
    assert losses[1].item() == losses[3].item()
    gradients = [torch.autograd.grad(loss, (queries, documents)) for loss in losses]
    assert torch.equal(gradients[0][0], gradients[2][0])
    assert torch.equal(gradients[0][1], gradients[2][1])
