"""One model for several embedding sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def matryoshka(
    loss: Callable[[Tensor, Tensor], Tensor],
    queries: Tensor,
    documents: Tensor,
    dims: Sequence[int],
    weights: Sequence[float] | None = None,
) -> Tensor:
    """Weighted mean of the loss at embeddings cut to each of `dims` and normalised anew (arXiv 2205.13147, eq. 1).

    queries: (B, H), documents: (P, H). weights: one a size, equal by default. Raises ValueError for a size outside 1..H
    and for weights that do not fit.
    """
    shares = [1.0] * len(dims) if weights is None else list(weights)
    if not dims or len(shares) != len(dims) or sum(shares) <= 0:
        raise ValueError(f"sizes {list(dims)} with weights {shares}: give one positive weight a size")
    width = queries.shape[1]
    total = queries.new_zeros(())
    for size, share in zip(dims, shares, strict=True):
        if not 1 <= size <= width:
            raise ValueError(f"matryoshka size {size}: embeddings have {width} dimensions")
        cut = [torch.nn.functional.normalize(x[:, :size], dim=1) for x in (queries, documents)]
        total = total + share * loss(*cut)
    return total / sum(shares)
