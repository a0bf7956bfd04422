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
