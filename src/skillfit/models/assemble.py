"""From a checked folder to a sentence-transformers model: weights in a stated type, pooling, padding, unit length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillfit.errors import UserError, suggest
from skillfit.models.source import transformer_folder
from skillfit.models.weights import check_complete, check_finite, quiet_transformers

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

POOLING = {"mean": "mean", "cls": "cls", "last": "lasttoken"}  # our word -> sentence-transformers' word
DTYPES = ("float32", "bfloat16", "float16")


def assemble(
    folder: Path, name: str, *, pooling: str | None, dtype: str | None, device: str | None
) -> SentenceTransformer:
    """The model of a folder, ending in unit vectors; no file is looked for elsewhere and no code of it is run.

    pooling: None is what the folder says; a folder that does not say (no modules.json) gets last-token pooling if its
    architecture is decoder-only, mean pooling otherwise. Raises UserError naming the model as the user did.
    """
    from sentence_transformers.sentence_transformer.modules import Normalize

    for field, value, known in (("pooling", pooling, POOLING), ("dtype", dtype, DTYPES)):
        if value is not None and value not in known:
            raise UserError("config", field, value, suggest(str(value), known))
    model = _loaded(folder, name, dtype or "float32", device)
    check_finite(model, name)
    if pooling is None and not (folder / "modules.json").is_file():
        pooling = "last" if _is_decoder(model) else "mean"
    if pooling is not None:
        _pool(model, pooling, name)
    _pad(model)
    if not any(isinstance(module, Normalize) for module in model):
        model.append(Normalize())
    return model


def settle(
    model: SentenceTransformer, *, max_length: int | None, query_prompt: str | None, document_prompt: str | None
) -> None:
    """Set window and prompts; None keeps the model's own. Raises UserError for a window beyond the positions."""
    if max_length is not None:
        limit = getattr(getattr(model[0], "config", None), "max_position_embeddings", None)
        if limit is not None and max_length > limit:
            raise UserError("config", "max_length", max_length, f"the model has {limit} positions; use at most that")
        model.max_seq_length = max_length
    for kind, prompt in (("query", query_prompt), ("document", document_prompt)):
        model.prompts.setdefault(kind, "")
        if prompt is not None:
            model.prompts[kind] = prompt


def pooling_of(model: SentenceTransformer) -> str:
    """mean, cls or last; another mode by its own name, several joined with +; none where the model has no pooling."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    ours = {theirs: word for word, theirs in POOLING.items()}
    modes = [module.pooling_mode for module in model if isinstance(module, Pooling)]
    if not modes:
        return "none"
    several = (modes[0],) if isinstance(modes[0], str) else modes[0]
    return "+".join(ours.get(mode, mode) for mode in several)


def _loaded(folder: Path, name: str, dtype: str, device: str | None) -> SentenceTransformer:
    import torch
    from sentence_transformers import SentenceTransformer

    part = transformer_folder(folder, name)
    arguments: dict[str, Any] = {"use_safetensors": True, "dtype": getattr(torch, dtype)}
    try:
        arguments |= check_complete(part, name) if part is not None else {}
        with quiet_transformers():
            return SentenceTransformer(str(folder), device=device, local_files_only=True, model_kwargs=arguments)
    except UserError:
        raise
    except Exception as error:  # every loader beneath has its own exceptions; the user needs the model's name
        fix = f"cannot be loaded ({_first_line(error)}); give a complete model folder or a hub name"
        raise UserError("config", "model", name, fix) from error


def _is_decoder(model: SentenceTransformer) -> bool:
    """Whether each token sees only what is before it, so that only the last one has seen the whole text."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    config: Any = getattr(model[0], "config", None)
    kind = getattr(config, "model_type", None)
    both_ways = kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES or not getattr(config, "is_causal", True)
    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and not both_ways and not config.is_encoder_decoder


def _pool(model: SentenceTransformer, pooling: str, name: str) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling

    for place, module in model.named_children():
        if isinstance(module, Pooling):
            mode = POOLING[pooling]
            if module.pooling_mode != mode:
                setattr(model, place, Pooling(module.embedding_dimension, mode, module.include_prompt))
            return
    raise UserError("config", "pooling", pooling, f"{name} does not pool token vectors; leave pooling null")


def _pad(model: SentenceTransformer) -> None:
    """Give the tokenizer a token to pad with, and pad on the right: there padding moves no position.

    Where positions are relative (Qwen3) both sides give the same vectors; where they are absolute, only this one does.
    """
    tokenizer: Any = getattr(model[0], "tokenizer", None)
    if not hasattr(tokenizer, "pad_token"):
        return
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.convert_ids_to_tokens(0)
    tokenizer.padding_side = "right"
    config = getattr(model[0], "config", None)
    if config is not None and getattr(config, "pad_token_id", None) is None:
        config.pad_token_id = tokenizer.pad_token_id


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
