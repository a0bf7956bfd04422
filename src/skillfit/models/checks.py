"""Model settings that can be refused before anything loads and before a run folder is claimed."""

from __future__ import annotations

import json
from pathlib import Path

from skillfit.errors import UserError
from skillfit.models.source import resolve_model, transformer_folder


def check_window(name: str, max_length: int | None) -> None:
    """Raise UserError for a window beyond the positions of a model that lies on this machine."""
    folder = Path(resolve_model(name))
    part = transformer_folder(folder, name) if max_length is not None and folder.is_dir() else None
    if part is None or not (part / "config.json").is_file():
        return
    try:
        limit = json.loads((part / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
    except (ValueError, AttributeError):
        return  # loading tells what is wrong with the file
    if isinstance(limit, int) and max_length is not None and max_length > limit:
        raise UserError("config", "max_length", max_length, f"the model has {limit} positions; use at most that")


def check_device(device: str | None) -> None:
    """Raise UserError for a device that torch does not know or this machine does not have."""
    if device is None or device == "cpu":
        return
    import torch

    try:
        kind, index = torch.device(device).type, torch.device(device).index or 0
    except RuntimeError as error:
        raise UserError("config", "device", device, "is no device; use cpu, cuda, cuda:N, mps or null") from error
    found = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}.get(kind, 1)
    if index >= found:
        fix = f"this machine has {found} of them; use device=cpu, or null for the best there is"
        raise UserError("config", "device", device, fix)
