"""InfoNCE over in-batch (and any other) candidates."""

from __future__ import annotations

import torch
from torch import Tensor


def info_nce(scores: Tensor, positive: Tensor, *, temperature: float, mask: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of each query's positive against all other columns (van den Oord et al. 2018, eq. 4).

    scores: (B, M) similarities before temperature, one row a query, one column a distinct skill of the batch.
    positive: (B,) column of each query's positive. temperature: scores are divided by it; lower is sharper.
    mask: (B, M), True = leave the column out (it also answers the query, so it is no negative). The mean is over the B
    rows of this process. Raises ValueError if temperature <= 0 or a positive is masked.
    """
    if temperature <= 0:
        raise ValueError(f"temperature = {temperature}: must be above 0")
    logits = scores / temperature
    if mask is not None:
        if mask.gather(1, positive.unsqueeze(1)).any():
            raise ValueError("a positive is masked; the mask may only hold other columns")
        logits = logits.masked_fill(mask, float("-inf"))
    return torch.nn.functional.cross_entropy(logits, positive)


def multi_positive_info_nce(
    scores: Tensor, positives: Tensor, *, temperature: float, mask: Tensor | None = None
) -> Tensor:
    """Mean over rows of the mean cross-entropy of a row's positives, each against all columns but the other positives.

    scores: (B, M). positives: (B, M), True for each positive of the row; at least one. mask: (B, M), True = leave out.
    With one positive a row it is `info_nce`. Raises ValueError if temperature <= 0, for a row without a positive and
    for a masked positive.
    """
    if temperature <= 0:
        raise ValueError(f"temperature = {temperature}: must be above 0")
    if not bool(positives.any(dim=1).all()):
        raise ValueError("a row has no positive")
    if mask is not None and bool((mask & positives).any()):
        raise ValueError("a positive is masked; the mask may only hold other columns")
    logits = scores / temperature
    left_out = positives if mask is None else positives | mask
    others = logits.masked_fill(left_out, float("-inf")).logsumexp(dim=1, keepdim=True)
    losses = torch.logaddexp(logits, others) - logits  # (B, M): each column as the only positive
    chosen = torch.where(positives, losses, torch.zeros_like(losses))
    return (chosen.sum(dim=1) / positives.sum(dim=1)).mean()
