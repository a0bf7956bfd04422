"""The start of a training run: the encoder as it is to be trained, with what is frozen, dropped out and adapted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from skillfit.models.lora import LoraOptions

if TYPE_CHECKING:
    from skillfit.models.bi_encoder import BiEncoder

log = logging.getLogger(__name__)


def prepare(
    encoder: BiEncoder,
    *,
    lora: LoraOptions | None,
    dropout: float | None,
    attention_dropout: float | None,
    freeze_embeddings: bool,
    gradient_checkpointing: bool,
) -> None:
    """Change the encoder in place. dropout, attention_dropout: probabilities, None keeps the model's own.

    Attention without dropout keeps to the fast kernel on CPU. Raises UserError for an adapter that fits no module.
    """
    from skillfit.models import lora as adapters

    set_dropout(encoder, dropout, attention_dropout)
    if freeze_embeddings:
        encoder.model[0].auto_model.get_input_embeddings().requires_grad_(False)
    if lora is not None:
        adapters.attach(encoder, lora)
    if gradient_checkpointing:
        adapters.set_checkpointing(encoder, True)


def set_dropout(encoder: BiEncoder, dropout: float | None, attention_dropout: float | None) -> None:
    """Set the probabilities of all dropout, and apart from it of that on attention weights (None: as all)."""
    import torch

    attention = dropout if attention_dropout is None else attention_dropout
    for name, module in encoder.model.named_modules():
        if isinstance(module, torch.nn.Dropout):
            p = attention if name.endswith(("attention.self.dropout", "attention.dropout")) else dropout
            module.p = module.p if p is None else p
        elif attention is not None and isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = attention


def log_trainable(encoder: BiEncoder, model: str) -> None:
    """Say from which weights training starts and how many of them it changes."""
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in encoder.model.parameters()]
    trained, total = sum(n for n, trains in sizes if trains), sum(n for n, _ in sizes)
    log.info(
        "start weights %s, step 0: %.2f of %.2f M parameters are trained, window %d tokens",
        model, trained / 1e6, total / 1e6, encoder.max_length,
    )  # fmt: skip
