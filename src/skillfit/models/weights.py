"""Weights that are all there and all numbers: what a loader would fill with random values is refused."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillfit.errors import UserError

if TYPE_CHECKING:
    from torch import nn

SHOWN = 3  # names of tensors in a message


def check_complete(folder: Path, name: str) -> dict[str, Any]:
    """Raise UserError if the files of a transformer lack tensors of its architecture; only their heads are read.

    A missing pooler is no fault, as no sentence embedding uses one: the arguments returned build the model without.
    Tensors that the architecture has no place for are left aside.
    """
    from transformers import AutoModel

    with quiet_transformers():
        model, info = AutoModel.from_pretrained(
            folder, device_map="meta", output_loading_info=True, use_safetensors=True, local_files_only=True
        )
    missing = sorted(info["missing_keys"])
    if model.config.is_encoder_decoder:  # only the encoder is used
        missing = [key for key in missing if not key.startswith("decoder.")]
    poolers = [key for key in missing if key.split(".", 1)[0] == "pooler"]
    without = poolers and "add_pooling_layer" in inspect.signature(type(model).__init__).parameters
    lost = [key for key in missing if not (without and key in poolers)]
    if lost:
        fix = f"cannot be loaded: {len(lost)} tensors of {type(model).__name__} are missing ({_some(lost)}); "
        raise UserError("config", "model", name, fix + "save the whole model again")
    return {"add_pooling_layer": False} if without else {}


def check_finite(module: nn.Module, name: str) -> None:
    """Raise UserError naming the first tensors that hold NaN or infinity."""
    import torch

    broken = [key for key, tensor in module.named_parameters() if not bool(torch.isfinite(tensor).all())]
    if broken:
        fix = f"cannot be used: {len(broken)} tensors are not finite ({_some(broken)}); the training run had diverged"
        raise UserError("config", "model", name, fix)


def hash_weights(module: nn.Module) -> str:
    """SHA-256 (hex) of all tensors with their names, shapes and types."""
    digest = hashlib.sha256()
    update_with_weights(digest, module)
    return digest.hexdigest()


def update_with_weights(digest: Any, module: nn.Module) -> None:
    """Feed all tensors of a module to a running hash, in the order of their names."""
    import torch

    for key, tensor in sorted(module.state_dict().items()):
        digest.update(f"{key}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Loading without bars and tables: what matters in them is checked and told in one line."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(level)


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
