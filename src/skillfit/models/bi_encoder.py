"""The bi-encoder: a sentence-transformers model with its prompts, saved as a folder that describes itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skillfit.errors import UserError
from skillfit.io.files import atomic_dir
from skillfit.io.jsonl import read_json, write_json
from skillfit.models.encoding import Precision, encode
from skillfit.models.source import resolve_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

CARD = "skillfit.json"
Kind = Literal["query", "document"]
# A first guess of how many characters fill a window; longer texts are tokenised whole only when this much did not.
CHARACTERS_PER_TOKEN = 8


class BiEncoder:
    """Encodes queries and documents into unit vectors; what `SentenceTransformer(folder)` gives, this gives.

    The prompts live in the sentence-transformers folder itself under the names `query` and `document`.
    """

    def __init__(self, model: SentenceTransformer, card: dict[str, Any] | None = None) -> None:
        self.model = model
        self.card = card or {}

    @classmethod
    def load(
        cls,
        name: str,
        *,
        max_length: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        device: str | None = None,
    ) -> BiEncoder:
        """Load the embedded model, a folder or a hub name; settings left None are the model's own.

        Only safetensors weights are read and no code of the model's is run. Raises UserError if it cannot be loaded.
        """
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        place = resolve_model(name)
        try:
            model = SentenceTransformer(place, device=device, model_kwargs={"use_safetensors": True})
        except Exception as error:  # every loader beneath has its own exceptions; the user needs the model's name
            fix = f"cannot be loaded ({_first_line(error)}); give a model folder or a hub name that can be reached"
            raise UserError("config", "model", name, fix) from error
        if not any(isinstance(module, Normalize) for module in model):
            model.append(Normalize())
        if max_length is not None:
            model.max_seq_length = _checked_length(model, max_length)
        for kind, prompt in (("query", query_prompt), ("document", document_prompt)):
            model.prompts.setdefault(kind, "")
            if prompt is not None:
                model.prompts[kind] = prompt
        card_file = Path(place) / CARD
        return cls(model, read_json(card_file) if card_file.is_file() else None)

    @property
    def max_length(self) -> int:
        """The window in tokens, special tokens included."""
        return int(self.model.max_seq_length or self.model.tokenizer.model_max_length)

    @property
    def prompts(self) -> dict[str, str]:
        """The text put before each query and each document."""
        return {"query": self.model.prompts["query"], "document": self.model.prompts["document"]}

    def encode(
        self, texts: Sequence[str], kind: Kind, *, batch_size: int = 32, dtype: Precision | None = None
    ) -> np.ndarray:
        """(n, H) float32 unit vectors, in the order of `texts`, whatever the batch size. UserError if not finite.

        dtype: the precision of the weights while encoding; None is the model's own.
        """
        found = encode(self.model, texts, self.prompts[kind], batch_size, dtype=dtype)
        if not np.isfinite(found).all():
            raise UserError("model", f"{kind} vectors", fix="are not finite; the weights are broken or overflow")
        return found

    def count_cut(self, texts: Sequence[str], kind: Kind) -> int:
        """How many of the texts do not fit the window with their prompt."""
        prompt, limit = self.prompts[kind], self.max_length
        heads = [prompt + text[: limit * CHARACTERS_PER_TOKEN] for text in texts]
        over = [length > limit for length in self._token_counts(heads)]
        unsure = [
            prompt + text
            for text, cut in zip(texts, over, strict=True)
            if not cut and len(text) > limit * CHARACTERS_PER_TOKEN
        ]
        return sum(over) + sum(length > limit for length in self._token_counts(unsure))

    def fingerprint(self) -> str:
        """SHA-256 (hex) of everything that shapes a vector: weights, tokenizer, modules, window and prompts."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(_uint8()).numpy().data)
        backend = getattr(self.model.tokenizer, "backend_tokenizer", None)
        modules = [f"{type(module).__name__}{_module_config(module)}" for module in self.model]
        shape = {"modules": modules, "window": self.max_length, "prompts": self.prompts}
        digest.update(json.dumps(shape, sort_keys=True).encode())
        digest.update((backend.to_str() if backend is not None else repr(self.model.tokenizer)).encode())
        return digest.hexdigest()

    def save(self, folder: Path | str, card: dict[str, Any]) -> None:
        """Write a sentence-transformers folder plus `skillfit.json`; the folder appears whole or not at all.

        card: what the weights do not tell (view, temperature, base model, training data). Raises UserError if `folder`
        holds files already.
        """
        own = {"prompts": self.prompts, "max_length": self.max_length, "similarity": "cosine", "normalised": True}
        with atomic_dir(folder) as work:
            self.model.save_pretrained(str(work), create_model_card=False, safe_serialization=True)
            write_json(work / CARD, {**own, **card})

    def _token_counts(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        encoded = self.model.tokenizer(list(texts), truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]


def _checked_length(model: SentenceTransformer, max_length: int) -> int:
    positions = getattr(getattr(model[0], "auto_model", model[0]), "config", None)
    limit = getattr(positions, "max_position_embeddings", None)
    if limit is not None and max_length > limit:
        raise UserError("config", "max_length", max_length, f"the model has {limit} positions; use at most that")
    return max_length


def _module_config(module: Any) -> str:
    config = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
    return json.dumps(config, sort_keys=True, default=str)


def _uint8() -> Any:
    import torch

    return torch.uint8


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
