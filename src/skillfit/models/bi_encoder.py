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
from skillfit.models.source import ADAPTER, CARD, check_folder, resolve_model
from skillfit.models.tokenizer_state import TokenizerState

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
        self._tokenizer = TokenizerState(model.tokenizer)

    @classmethod
    def load(
        cls,
        name: str,
        *,
        max_length: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        pooling: str | None = None,
        dtype: str | None = None,
        device: str | None = None,
    ) -> BiEncoder:
        """Load the embedded model, a folder, a LoRA adapter (with its base, merged) or a hub name.

        Settings left None are the model's own, but weights are float32 whatever type they were saved in. pooling: mean,
        cls or last. dtype: float32, bfloat16 or float16. Only safetensors weights are read and no code of the model's
        is run. Raises UserError if it cannot be loaded, lacks tensors or a tokenizer, or holds NaN.
        """
        from skillfit.models.assemble import assemble, settle
        from skillfit.models.hub import fetch

        place = Path(resolve_model(name))
        folder = place if place.is_dir() else fetch(name)
        check_folder(folder, name)
        if (folder / ADAPTER).is_file():
            from skillfit.models.lora import load_adapted

            asked = {"query_prompt": query_prompt, "document_prompt": document_prompt, "pooling": pooling}
            return load_adapted(folder, name, {**asked, "max_length": max_length, "dtype": dtype, "device": device})
        model = assemble(folder, name, pooling=pooling, dtype=dtype, device=device)
        settle(model, max_length=max_length, query_prompt=query_prompt, document_prompt=document_prompt)
        card_file = folder / CARD
        return cls(model, read_json(card_file) if card_file.is_file() else None)

    @property
    def max_length(self) -> int:
        """The window in tokens, special tokens included."""
        return int(self.model.max_seq_length or self.model.tokenizer.model_max_length)

    @property
    def prompts(self) -> dict[str, str]:
        """The text put before each query and each document."""
        return {"query": self.model.prompts["query"], "document": self.model.prompts["document"]}

    @property
    def pooling(self) -> str:
        """How token vectors become one: mean, cls, last, or what else the model's own settings say; none without."""
        from skillfit.models.assemble import pooling_of

        return pooling_of(self.model)

    @property
    def dtype(self) -> str:
        """The type of the weights: float32, bfloat16, …"""
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")

    def encode(
        self, texts: Sequence[str], kind: Kind, *, batch_size: int = 32, dtype: Precision | None = None
    ) -> np.ndarray:
        """(n, H) float32 unit vectors, in the order of `texts`, whatever the batch size. UserError if not finite.

        dtype: the precision of the weights meanwhile; None is the model's own.
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
        from skillfit.models.weights import update_with_weights

        digest = hashlib.sha256()
        update_with_weights(digest, self.model)
        modules = [f"{type(module).__name__}{_module_config(module)}" for module in self.model]
        shape = {"modules": modules, "window": self.max_length, "prompts": self.prompts}
        digest.update(json.dumps(shape, sort_keys=True).encode())
        digest.update(self._tokenizer.text.encode())
        return digest.hexdigest()

    def tokenizer_key(self) -> str:
        """SHA-256 (hex) of what makes tokens of a text, window and prompts aside."""
        return hashlib.sha256(self._tokenizer.text.encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """What the model does to a text, for `skillfit.json` and run folders."""
        own = {"prompts": self.prompts, "max_length": self.max_length, "pooling": self.pooling, "dtype": self.dtype}
        return {**own, "similarity": "cosine", "normalised": True}

    def save(self, folder: Path | str, card: dict[str, Any]) -> None:
        """Write a sentence-transformers folder plus `skillfit.json`; the folder appears whole or not at all.

        card: what the weights do not tell (view, temperature, base model, training data). Raises UserError if `folder`
        holds files already, and ValueError while a LoRA adapter is attached: merge it first, or save it alone.
        """
        from skillfit.models.lora import adapter_of

        if adapter_of(self) is not None:
            raise ValueError("an adapter is attached: call lora.merge before save, or lora.save_adapter instead")
        self._tokenizer.restore()
        with atomic_dir(folder) as work:
            self.model.save_pretrained(str(work), create_model_card=False, safe_serialization=True)
            write_json(work / CARD, {**self.describe(), **card})

    def _token_counts(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        encoded = self.model.tokenizer(list(texts), truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]


def _module_config(module: Any) -> str:
    config = module.get_config_dict() if hasattr(module, "get_config_dict") else {}
    return json.dumps(config, sort_keys=True, default=str)
