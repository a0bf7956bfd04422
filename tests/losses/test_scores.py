"""Scores of passages, false negatives and repeated columns, by hand."""

from __future__ import annotations

import pytest
import torch

from skillfit.losses import false_negative_mask, first_columns, passage_scores

QUERIES = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
DOCUMENTS = torch.tensor([[0.5, 0.1], [0.2, 0.9], [0.4, 0.3], [-1.0, -1.0]])


def test_a_column_scores_as_its_best_text_or_the_mean() -> None:
    owner = torch.tensor([0, 0, 1, 2])
    assert passage_scores(QUERIES, DOCUMENTS, owner, 3).tolist() == [
        pytest.approx([0.5, 0.4, -1.0]),
        pytest.approx([0.9, 0.3, -1.0]),
    ]
    mean = passage_scores(QUERIES, DOCUMENTS, owner, 3, "mean")
    assert mean.tolist() == [pytest.approx([0.35, 0.4, -1.0]), pytest.approx([0.5, 0.3, -1.0])]


def test_one_text_a_column_in_any_order() -> None:
    owner = torch.tensor([2, 0, 3, 1])
    assert torch.equal(passage_scores(QUERIES, DOCUMENTS, owner, 4), (QUERIES @ DOCUMENTS.T)[:, [1, 3, 0, 2]])


def test_negative_best_scores_are_not_lifted_to_zero() -> None:
    owner = torch.tensor([0, 0])
    assert passage_scores(QUERIES, -DOCUMENTS[:2], owner, 1).tolist() == [pytest.approx([-0.2]), pytest.approx([-0.1])]


def test_the_gradient_of_a_best_score_goes_to_the_best_text() -> None:
    documents = DOCUMENTS.clone().requires_grad_()
    passage_scores(QUERIES[:1], documents, torch.tensor([0, 0, 1, 1]), 2).sum().backward()
    assert documents.grad is not None
    assert documents.grad.tolist() == [[1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("how", ["max", "mean"])
def test_gradients_are_right(how: str) -> None:
    queries, documents = QUERIES.double().requires_grad_(), DOCUMENTS.double().requires_grad_()
    owner = torch.tensor([0, 0, 1, 2])
    assert torch.autograd.gradcheck(lambda q, d: passage_scores(q, d, owner, 3, how), (queries, documents))  # type: ignore[arg-type]


@pytest.mark.parametrize(("owner", "columns"), [([0, 0, 2, 2], 3), ([0, 1, 2, 3], 3), ([0, 0, 0, 0], 2)])
def test_every_column_has_a_text(owner: list[int], columns: int) -> None:
    with pytest.raises(ValueError, match=r"have no text|columns"):
        passage_scores(QUERIES, DOCUMENTS, torch.tensor(owner), columns)


def test_answers_but_the_positive_are_masked() -> None:
    skills = torch.tensor([7, 8, 9, 7])  # two columns of skill 7: two texts of it
    mask = false_negative_mask(skills, torch.tensor([0, 1]), torch.tensor([[7, 9], [8, -1]]))
    assert mask.tolist() == [[False, False, True, True], [False, False, False, False]]


def test_repeated_columns_go_to_their_first() -> None:
    kept, remap = first_columns(torch.tensor([5, 3, 5, 9, 3]))
    assert kept.tolist() == [0, 1, 3]
    assert remap.tolist() == [0, 1, 0, 2, 1]
