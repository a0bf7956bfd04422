"""Margins and distributions of a teacher."""

from __future__ import annotations

import math

import pytest
import torch

from skillfit.losses import kl_distillation, margin_mse

NAN = math.nan
SCORES = torch.tensor([[3.0, 1.0, 2.0], [0.5, 1.5, 0.0]])


def test_margins_are_compared_where_the_teacher_told_both() -> None:
    teacher = torch.tensor([[5.0, 4.0, NAN], [1.0, 3.0, 2.0]])
    # Row 0, positive 0: margin 2 against 1. Row 1, positive 1: margins 1 and 1.5 against 2 and 1.
    expected = ((2 - 1) ** 2 + (1 - 2) ** 2 + (1.5 - 1) ** 2) / 3
    assert margin_mse(SCORES, torch.tensor([0, 1]), teacher).item() == pytest.approx(expected)


def test_a_teacher_that_is_silent_or_agrees_costs_nothing() -> None:
    positive = torch.tensor([0, 1])
    assert margin_mse(SCORES, positive, torch.full((2, 3), NAN)).item() == 0
    assert margin_mse(SCORES, positive, SCORES + 7).item() == pytest.approx(0, abs=1e-12)
    assert margin_mse(SCORES, positive, torch.tensor([[NAN, 1.0, 2.0], [NAN, NAN, 1.0]])).item() == 0


def test_silence_gives_no_gradient_and_no_nan() -> None:
    scores = SCORES.clone().requires_grad_()
    margin_mse(scores, torch.tensor([0, 1]), torch.tensor([[1.0, 0.0, NAN], [NAN, NAN, NAN]])).backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    assert scores.grad[1].tolist() == [0, 0, 0]
    assert scores.grad[0, 2] == 0


def test_divergence_over_the_columns_that_the_teacher_scored() -> None:
    teacher = torch.tensor([[0.0, math.log(3.0), NAN], [NAN, 1.0, NAN]])
    # Row 0: teacher (1/4, 3/4); student softmax of (3, 1). Row 1: a single column says nothing.
    p = 1 / (1 + math.exp(-2.0))
    expected = (0.25 * math.log(0.25 / p) + 0.75 * math.log(0.75 / (1 - p))) / 2
    assert kl_distillation(SCORES, teacher, temperature=1.0).item() == pytest.approx(expected, rel=1e-5)
    assert kl_distillation(SCORES, SCORES.clone(), temperature=0.5).item() == pytest.approx(0, abs=1e-6)
    assert kl_distillation(SCORES, torch.full((2, 3), NAN), temperature=1.0).item() == 0
    with pytest.raises(ValueError, match="temperature"):
        kl_distillation(SCORES, teacher, temperature=0)
