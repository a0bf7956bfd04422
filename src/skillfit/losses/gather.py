"""Rows of all processes in one tensor, with a gradient that makes several processes learn as one would.

Each process computes the mean loss of its own rows over everybody's columns, and DDP averages the gradients of the
processes. For that average to be the gradient of the mean over all rows, the gradient at a gathered row must be the sum
over the processes that used it: the backward of `gather_rows`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def processes() -> int:
    """How many processes take part; 1 where torch.distributed is not in use."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def gather_rows(x: Tensor) -> Tensor:
    """(sum of n_r, …) rows of all processes in rank order, from (n_r, …) of each; they may have unequally many.

    Backward sums the gradient over processes and hands each its own rows. With one process, x itself.
    """
    if processes() == 1:
        return x
    found: Tensor = _Gather.apply(x)
    return found


def gather_ids(x: Tensor) -> Tensor:
    """The same without a gradient, for whole numbers."""
    return x if processes() == 1 else _gather(x, _sizes(len(x), x.device))


def offset_of_rank(n: int, device: torch.device | None = None) -> int:
    """Where this process's rows begin in a gathered tensor, if it gives n of them."""
    return 0 if processes() == 1 else sum(_sizes(n, device)[: dist.get_rank()])


def row_weight(n: int, device: torch.device | None = None) -> float:
    """N x processes / rows of all processes: times it, the mean of n rows is this process's share of the mean over all.

    1 where every process has the same number of rows. DDP's average then is exact in an unequal last batch too.
    """
    if processes() == 1:
        return 1.0
    return n * processes() / sum(_sizes(n, device))


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        sizes = _sizes(len(x), x.device)
        ctx.start, ctx.rows = sum(sizes[: dist.get_rank()]), len(x)
        return _gather(x, sizes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.contiguous().clone()
        dist.all_reduce(total)
        return total[ctx.start : ctx.start + ctx.rows]


def _sizes(n: int, device: torch.device | None) -> list[int]:
    own = torch.tensor([n], dtype=torch.long, device=device)
    found = [torch.empty_like(own) for _ in range(processes())]
    dist.all_gather(found, own)
    return [int(size) for size in found]


def _gather(x: Tensor, sizes: list[int]) -> Tensor:
    # Collectives want equal shapes, so rows are padded to the longest part and cut afterwards.
    padded = x.new_zeros(max(sizes), *x.shape[1:])
    padded[: len(x)] = x.detach()
    found = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(found, padded)
    return torch.cat([part[:size] for part, size in zip(found, sizes, strict=True)])
