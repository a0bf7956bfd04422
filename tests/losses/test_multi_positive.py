"""Several positives a query."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from skillfit.losses import info_nce, multi_positive_info_nce

SCORES = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
POSITIVES = torch.tensor([[True, True, False], [False, True, False]])


def test_each_positive_stands_against_the_negatives_alone() -> None:
    first = (math.log(math.e**2 + 1) - 2 + math.log(math.e + 1) - 1) / 2
    second = math.log(1 + math.e**3 + math.e) - 3
    found = multi_positive_info_nce(SCORES, POSITIVES, temperature=1.0)
    assert found.item() == pytest.approx((first + second) / 2, rel=1e-6)


def test_one_positive_a_row_is_info_nce() -> None:
    positives = torch.tensor([[False, True, False], [True, False, False]])
    mask = torch.tensor([[True, False, False], [False, False, True]])
    one = multi_positive_info_nce(SCORES, positives, temperature=0.3, mask=mask)
    assert one.item() == pytest.approx(info_nce(SCORES, torch.tensor([1, 0]), temperature=0.3, mask=mask).item())


def test_a_row_without_negatives_costs_nothing() -> None:
    found = multi_positive_info_nce(SCORES[:1], torch.ones(1, 3, dtype=torch.bool), temperature=1.0)
    assert found.item() == 0


@given(st.permutations(range(3)), st.floats(-1e4, 1e4))
def test_order_of_columns_and_masked_scores_never_matter(order: list[int], masked: float) -> None:
    mask = torch.tensor([[False, False, True], [True, False, False]])
    changed = SCORES.masked_fill(mask, masked)
    expected = multi_positive_info_nce(SCORES, POSITIVES, temperature=0.5, mask=mask)
    found = multi_positive_info_nce(changed[:, order], POSITIVES[:, order], temperature=0.5, mask=mask[:, order])
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_gradient() -> None:
    scores = SCORES.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda s: multi_positive_info_nce(s, POSITIVES, temperature=0.5), (scores,))


@pytest.mark.parametrize(
    ("positives", "mask", "temperature", "told"),
    [
        (torch.zeros(2, 3, dtype=torch.bool), None, 1.0, "no positive"),
        (POSITIVES, POSITIVES, 1.0, "masked"),
        (POSITIVES, None, 0.0, "temperature"),
    ],
)
def test_what_makes_no_sense_is_refused(positives, mask, temperature, told) -> None:
    with pytest.raises(ValueError, match=told):
        multi_positive_info_nce(SCORES, positives, temperature=temperature, mask=mask)
