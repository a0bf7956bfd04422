"""GradCache: the exact gradient of a contrastive batch with the activations of one chunk in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

Chunk = TypeVar("Chunk")


def cached_loss(
    chunks: Sequence[Chunk],
    encode: Callable[[Chunk], Tensor],
    loss: Callable[[list[Tensor]], Tensor],
    parameters: Sequence[Tensor],
) -> Tensor:
    """The loss of all chunks' embeddings, ready for backward (Gao et al. 2021, arXiv 2101.06983).

    encode: a chunk -> (n, H). loss: the embeddings of all chunks, in order -> scalar. parameters: what is trained.
    Chunks are encoded without a graph, then once more one by one with the same random state, so that dropout draws the
    same masks. The gradients are computed here; the scalar's backward hands each parameter its gradient once, scaled by
    what comes in, so that accumulation, loss scaling and the hooks of DDP see an ordinary loss. Value and gradient are
    those of encoding the same chunks with their graphs kept. A parameter that no chunk uses gets a gradient of 0.
    """
    states, embeddings = [], []
    with torch.no_grad():
        for chunk in chunks:
            states.append(_random_state())
            embeddings.append(encode(chunk).detach().requires_grad_())
    end = _random_state()
    with torch.enable_grad():
        value = loss(embeddings)
    at_embeddings = torch.autograd.grad(value, embeddings, allow_unused=True)
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    gradients = [torch.zeros_like(parameter) for parameter in trained]
    for chunk, state, wanted in zip(chunks, states, at_embeddings, strict=True):
        if wanted is None:
            continue
        _restore(state)
        with torch.enable_grad():
            again = encode(chunk)
        parts = torch.autograd.grad(again, trained, wanted.to(again.dtype), allow_unused=True)
        for total, part in zip(gradients, parts, strict=True):
            if part is not None:
                total += part
    _restore(end)
    with torch.enable_grad():
        found: Tensor = _Handed.apply(value.detach(), gradients, *trained)
    return found


class _Handed(torch.autograd.Function):
    """A scalar whose gradients at some parameters are known already."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, gradients: list[Tensor], *parameters: Tensor) -> Tensor:  # noqa: ARG004
        ctx.gradients = gradients
        return value.clone()

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        return (None, None, *(gradient * scale.to(gradient.dtype) for gradient in ctx.gradients))


def _random_state() -> tuple[Tensor, list[Tensor]]:
    on_devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else []
    return torch.get_rng_state(), on_devices


def _restore(state: tuple[Tensor, list[Tensor]]) -> None:
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])
