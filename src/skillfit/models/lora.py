"""LoRA adapters through peft: attach, save alone, load with their base, merge; and gradient checkpointing with them."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.errors import UserError
from skillfit.io.files import atomic_dir
from skillfit.io.jsonl import read_json, write_json
from skillfit.models.source import ADAPTER, CARD, EMBEDDED
from skillfit.models.weights import check_finite, hash_weights

if TYPE_CHECKING:
    from torch import nn

    from skillfit.models.bi_encoder import BiEncoder

log = logging.getLogger(__name__)
WEIGHTS = "adapter_model.safetensors"


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class LoraOptions:
    """What is adapted (Hu et al. 2021): W + alpha/rank · BA on each target, B and A of the given rank.

    target_modules: ends of module names, as `query` or `attention.output.dense`; None is peft's choice for the
    architecture (query and value projections), or all linear modules where peft has none.
    """

    rank: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    target_modules: tuple[str, ...] | None = Field(default=None, min_length=1)


def attach(encoder: BiEncoder, options: LoraOptions) -> int:
    """Freeze the encoder and put an adapter on its transformer; the number of trainable weights is returned.

    The adapter starts as no change at all. Raises UserError for a target that is no linear module of the model.
    """
    from peft import LoraConfig, TaskType, get_peft_model

    if adapter_of(encoder) is not None:
        raise ValueError("an adapter is attached already; merge it first")
    base = encoder.model[0].model
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=_targets(base, options.target_modules),
        task_type=TaskType.FEATURE_EXTRACTION,
    )
    encoder.card["base_weights"] = {"hash": hash_weights(base), "dtype": encoder.dtype}
    encoder.model.requires_grad_(False)
    with _without_future_warnings():
        encoder.model[0].model = get_peft_model(base, config)
    trainable: int = sum(p.numel() for p in encoder.model.parameters() if p.requires_grad)
    log.info("LoRA of rank %d on %s: %d trainable weights", options.rank, ", ".join(_adapted(encoder)), trainable)
    return trainable


def adapter_of(encoder: BiEncoder) -> Any | None:
    """The attached peft model, or None."""
    from peft import PeftModel

    inner = getattr(encoder.model[0], "model", None)
    return inner if isinstance(inner, PeftModel) else None


def save_adapter(encoder: BiEncoder, folder: Path | str, base_model: str, card: dict[str, Any] | None = None) -> None:
    """Write the adapter alone, with the base's name and what `BiEncoder.load` needs to build both again.

    base_model: as in the config. A folder is noted relative to `folder`, so that both can be moved together. Raises
    UserError if `folder` holds files already.
    """
    peft = adapter_of(encoder)
    if peft is None:
        raise ValueError("no adapter is attached")
    peft.peft_config["default"].base_model_name_or_path = _portable(base_model, Path(folder))
    with atomic_dir(folder) as work:
        peft.save_pretrained(str(work), safe_serialization=True, save_embedding_layers=False)
        (work / "README.md").unlink(missing_ok=True)  # peft's empty form
        base = {"base_weights": encoder.card["base_weights"]}
        write_json(work / CARD, {**encoder.describe(), **(card or {}), **base})


def merge(encoder: BiEncoder) -> None:
    """Add the adapter to the weights: what stays is an ordinary model of the base's architecture, saved as such."""
    peft = adapter_of(encoder)
    if peft is None:
        raise ValueError("no adapter is attached")
    encoder.model[0].model = peft.merge_and_unload()
    encoder.model.requires_grad_(True)
    encoder.card.pop("base_weights", None)


def load_adapted(folder: Path, name: str, asked: dict[str, Any]) -> BiEncoder:
    """Base and adapter of a folder, merged. asked: the arguments of `BiEncoder.load`; None is what the adapter says.

    Raises UserError if the adapter is damaged, was made for another base, or its base is not to be found.
    """
    from skillfit.models.bi_encoder import BiEncoder

    card = read_json(folder / CARD) if (folder / CARD).is_file() else {}
    prompts = card.get("prompts", {})
    told = {
        "max_length": card.get("max_length"),
        "query_prompt": prompts.get("query"),
        "document_prompt": prompts.get("document"),
        "pooling": card.get("pooling"),
    }
    arguments = {key: told.get(key) if value is None else value for key, value in asked.items()}
    encoder = BiEncoder.load(_base(folder, name), **arguments)
    _join(encoder, folder, name, card.get("base_weights"))
    merge(encoder)
    check_finite(encoder.model, name)
    encoder.card = card
    return encoder


def set_checkpointing(encoder: BiEncoder, on: bool) -> None:
    """Recompute activations in the backward pass instead of keeping them: less memory, about a third more time.

    The non-reentrant form is used: with frozen embeddings under an adapter the other one gives no gradient at all.
    """
    peft = adapter_of(encoder)
    transformer = encoder.model[0].model if peft is None else peft.base_model.model
    with _without_future_warnings():
        if on:
            transformer.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        else:
            transformer.gradient_checkpointing_disable()


@contextmanager
def _without_future_warnings() -> Iterator[None]:
    """Inside, transformers may rename calls unheard: the old names work in all versions that we allow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _targets(base: nn.Module, names: tuple[str, ...] | None) -> list[str] | str:
    """Names that are there, each of them; what to adapt when none are given."""
    from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    if names is None:
        kind = base.config.model_type
        return list(KNOWN[kind]) if kind in KNOWN else "all-linear"
    linear = _linear(base)
    unmatched = [name for name in names if not any(full == name or full.endswith(f".{name}") for full in linear)]
    if unmatched:
        there = sorted({full.rsplit(".", 1)[-1] for full in linear})
        ends = sorted({_end(full) for full in linear})
        fix = f"no linear module has this name; there are: {', '.join(there)} (in full: {', '.join(ends)})"
        raise UserError("config", "lora.target_modules", ", ".join(unmatched), fix)
    return list(names)


def _linear(base: nn.Module) -> list[str]:
    import torch

    return [name for name, module in base.named_modules() if isinstance(module, torch.nn.Linear)]


def _end(name: str) -> str:
    """A module's name without what repeats from layer to layer: `encoder.layer.3.attention.self.query` in short."""
    parts = name.split(".")
    numbers = [place for place, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[numbers[-1] + 1 :] if numbers else parts)


def _adapted(encoder: BiEncoder) -> list[str]:
    found = {_end(name.partition(".lora_A")[0]) for name, _ in encoder.model.named_parameters() if ".lora_A" in name}
    return sorted(found)


def _portable(base_model: str, folder: Path) -> str:
    if base_model == EMBEDDED:
        return f"sentence-transformers/{EMBEDDED}"  # so that other programs find it too
    base = Path(base_model).expanduser()
    return Path(os.path.relpath(base.resolve(), folder.resolve())).as_posix() if base.is_dir() else base_model


def _base(folder: Path, name: str) -> str:
    """The base that an adapter names: a folder as seen from the adapter, or a name."""
    base = read_json(folder / ADAPTER).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise UserError("config", "model", name, f"cannot be loaded: {ADAPTER} names no base_model_name_or_path")
    beside = folder / base
    if beside.is_dir():
        return str(beside)
    if base.startswith(("..", "/")):
        fix = f"cannot be loaded: its base model {base} is not there; put it back, or set base_model_name_or_path in "
        raise UserError("config", "model", name, fix + ADAPTER)
    return base


def _join(encoder: BiEncoder, folder: Path, name: str, made_for: dict[str, str] | None) -> None:
    """Put the adapter of a folder on its base, every tensor of it in its place."""
    from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
    from safetensors.torch import load_file

    base = encoder.model[0].model
    if made_for is not None and made_for["dtype"] == encoder.dtype and made_for["hash"] != hash_weights(base):
        fix = "cannot be loaded: the adapter was made for other weights than its base has now"
        raise UserError("config", "model", name, fix)
    try:
        settings = read_json(folder / ADAPTER)
        if settings.get("peft_type") != "LORA":
            raise ValueError(f"{ADAPTER} says {settings.get('peft_type')}, and LORA is what is known")
        config = LoraConfig.from_pretrained(str(folder))
        config.base_model_name_or_path = base.name_or_path  # where it was found; peft warns of a name that differs
        with _without_future_warnings():
            adapted = get_peft_model(base, config)
        found = set_peft_model_state_dict(adapted, load_file(folder / WEIGHTS))
    except Exception as error:  # peft, torch and safetensors each have their own
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        fix = f"cannot be loaded: the adapter is damaged or was made for another model ({line})"
        raise UserError("config", "model", name, fix) from error
    missing = [key for key in found.missing_keys if ".lora_" in key]
    if missing or found.unexpected_keys:
        odd = (missing or found.unexpected_keys)[0]
        fix = f"cannot be loaded: the adapter does not fit its base ({odd} is {'missing' if missing else 'unexpected'})"
        raise UserError("config", "model", name, fix)
    encoder.model[0].model = adapted
