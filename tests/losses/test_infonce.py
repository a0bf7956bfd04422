"""InfoNCE on tensors small enough to check by hand."""

from __future__ import annotations

import math

import pytest
import torch

from skillfit.losses import info_nce


def test_two_queries_by_hand():
    scores = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    loss = info_nce(scores, torch.tensor([0, 1]), temperature=0.5)
    first, second = -math.log(math.exp(2) / (math.exp(2) + 1)), math.log(2)
    assert loss.item() == pytest.approx((first + second) / 2)


def test_a_masked_column_is_no_negative():
    scores = torch.tensor([[0.2, 0.9, 0.1]])
    mask = torch.tensor([[False, True, False]])
    loss = info_nce(scores, torch.tensor([0]), temperature=1.0, mask=mask)
    assert loss.item() == pytest.approx(-math.log(math.exp(0.2) / (math.exp(0.2) + math.exp(0.1))))


def test_no_gradient_reaches_a_masked_column():
    scores = torch.tensor([[0.2, 0.9, 0.1]], requires_grad=True)
    info_nce(scores, torch.tensor([0]), temperature=1.0, mask=torch.tensor([[False, True, False]])).backward()
    assert scores.grad[0, 1] == 0
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2]


@pytest.mark.parametrize("temperature", [0.0, -0.05])
def test_a_temperature_of_zero_or_less_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature"):
        info_nce(torch.zeros(1, 2), torch.tensor([0]), temperature=temperature)


def test_a_masked_positive_is_refused():
    with pytest.raises(ValueError, match="positive is masked"):
        info_nce(torch.zeros(1, 2), torch.tensor([0]), temperature=1.0, mask=torch.tensor([[True, False]]))
