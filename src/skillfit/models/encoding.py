"""Texts to vectors: each distinct text once, tokenised once, in batches of like length under a token budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import numpy as np

from skillfit.models.tokens import features, length_batches, token_ids

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

Precision = Literal["float32", "bfloat16"]
TOKENS_A_ROW = 128  # batch_size counts rows of this length; on CPU 4,096 tokens at a time are as fast as any more


def encode(
    model: SentenceTransformer,
    texts: Sequence[str],
    prompt: str,
    batch_size: int = 32,
    *,
    dtype: Precision | None = None,
) -> np.ndarray:
    """(n, H) float32 vectors in the order of `texts`; equal texts get the same vector, whatever their order.

    batch_size: rows of 128 tokens at a time; longer texts come in smaller batches, shorter in larger ones. dtype: the
    precision of the weights meanwhile, None is the model's own; bfloat16 is about twice as fast where the processor has
    it, with a cosine to float32 above 0.999. The model keeps its mode and weights.
    """
    import torch

    # Sorted, so that who shares a batch with whom does not depend on the order of the texts.
    distinct = sorted(set(texts))
    rows = token_ids(model, distinct, prompt)
    found = [np.empty(0, np.float32)] * len(distinct)
    with _in_evaluation(model), _cast(model, dtype), torch.no_grad():
        for batch in length_batches([len(row) for row in rows], batch_size * TOKENS_A_ROW):
            taken = features(model, [rows[i] for i in batch], prompt)
            placed = {k: v.to(model.device) if isinstance(v, torch.Tensor) else v for k, v in taken.items()}
            vectors = _finish(model, model(placed)["sentence_embedding"].float()).cpu().numpy()
            for position, vector in zip(batch, vectors, strict=True):
                found[position] = vector
    where = {text: position for position, text in enumerate(distinct)}
    if not distinct:
        return np.zeros((0, model.get_embedding_dimension() or 0), np.float32)
    return np.stack(found)[[where[text] for text in texts]]


def _finish(model: SentenceTransformer, vectors: Tensor) -> Tensor:
    """Truncate as the model says, and normalise again where it does: a bfloat16 length is off by up to 0.4 %."""
    from sentence_transformers.sentence_transformer.modules import Normalize
    from torch.nn.functional import normalize

    vectors = vectors[:, : model.truncate_dim]
    return normalize(vectors, dim=-1) if isinstance(model[-1], Normalize) else vectors


@contextmanager
def _in_evaluation(model: SentenceTransformer) -> Iterator[None]:
    """Dropout off; each module gets its own mode back, frozen parts too."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _cast(model: SentenceTransformer, dtype: Precision | None) -> Iterator[None]:
    """Parameters in another precision for a while; the originals are kept and put back, not converted back.

    Buffers stay: rotary frequencies lose positions in bfloat16.
    """
    import torch

    wanted = None if dtype is None else torch.bfloat16 if dtype == "bfloat16" else torch.float32
    kept = [(p, p.data) for p in model.parameters() if wanted and p.is_floating_point() and p.dtype != wanted]
    try:
        for parameter, data in kept:
            parameter.data = data.to(wanted)
        yield
    finally:
        for parameter, data in kept:
            parameter.data = data
