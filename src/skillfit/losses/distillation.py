"""Learning from a reranker's scores."""

from __future__ import annotations

import torch
from torch import Tensor


def margin_mse(scores: Tensor, positive: Tensor, teacher: Tensor) -> Tensor:
    """Mean squared error of the margins to the positive (Hofstätter et al. 2020, arXiv 2010.02666, eq. 3).

    scores: (B, M) of the student. positive: (B,) column. teacher: (B, M), NaN where the teacher gave no score. The mean
    is over the pairs (row, negative) of which the teacher scored the negative and the row's positive; 0 without any.
    """
    margins = scores.gather(1, positive.unsqueeze(1)) - scores
    wanted = teacher.gather(1, positive.unsqueeze(1)) - teacher
    known = torch.isfinite(wanted)
    known = known.scatter(1, positive.unsqueeze(1), False)
    errors = torch.where(known, margins - torch.where(known, wanted, 0.0), 0.0)
    return errors.square().sum() / known.sum().clamp(min=1)


def kl_distillation(scores: Tensor, teacher: Tensor, *, temperature: float) -> Tensor:
    """Mean over rows of KL(teacher || student), both softmaxed over the columns that the teacher scored.

    scores, teacher: (B, M), NaN in teacher where it gave no score. temperature divides both. A row with fewer than two
    scored columns says nothing and counts 0. Raises ValueError if temperature <= 0.
    """
    if temperature <= 0:
        raise ValueError(f"temperature = {temperature}: must be above 0")
    known = torch.isfinite(teacher)
    told = known.sum(dim=1) > 1
    if not bool(told.any()):
        return scores.sum() * 0.0
    low = torch.finfo(scores.dtype).min
    student = torch.where(known, scores / temperature, low)[told].log_softmax(dim=1)
    target = torch.where(known, teacher / temperature, low)[told].log_softmax(dim=1)
    divergence = torch.where(known[told], target.exp() * (target - student), 0.0).sum(dim=1)
    return divergence.sum() / len(scores)
