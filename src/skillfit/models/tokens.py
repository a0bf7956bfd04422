"""Texts to token ids once, ids to padded tensors whenever needed: the two halves of `model.preprocess`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skillfit.errors import UserError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS_AT_ONCE = 1024  # the tokenizer answers in Python integers, 36 bytes each; this bounds them
UNPADDED = {"text": {"padding": False}, "common": {"return_tensors": None}}
TOLD_ASIDE = ("modality", "prompt_length")  # what preprocess says beside the tensors


def token_ids(model: SentenceTransformer, texts: Sequence[str], prompt: str) -> list[np.ndarray]:
    """The int32 ids of each text, with its prompt and special tokens, cut at the model's window.

    Raises UserError if the model does not begin with a transformer.
    """
    from sentence_transformers.sentence_transformer.modules import Transformer

    if not isinstance(model[0], Transformer):
        fix = "is the first module; use a model that begins with a transformer"
        raise UserError("config", "model", type(model[0]).__name__, fix)
    rows: list[np.ndarray] = []
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        block = list(texts[start : start + TEXTS_AT_ONCE])
        found = model.preprocess(block, prompt=prompt, processing_kwargs=UNPADDED)
        rows += [np.asarray(ids, dtype=np.int32) for ids in found["input_ids"]]
    return rows


def features(model: SentenceTransformer, rows: Sequence[np.ndarray], prompt: str) -> dict[str, Any]:
    """What the model's forward takes for rows of `token_ids`, padded to the longest on the tokenizer's side.

    input_ids, attention_mask and, where the model has them, token_type_ids: (n, longest) int64 tensors.
    """
    import torch

    probe = model.preprocess([""], prompt=prompt)  # tells which tensors the model takes and how long the prompt is
    tokenizer, width = model.tokenizer, max([1, *map(len, rows)])
    ids = np.full((len(rows), width), tokenizer.pad_token_id or 0, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    left = tokenizer.padding_side == "left"
    for number, row in enumerate(rows):
        place = slice(width - len(row), width) if left else slice(0, len(row))
        ids[number, place], mask[number, place] = row, 1
    found: dict[str, Any] = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
    if "token_type_ids" in probe:  # one text a row: one segment
        segments = np.where(mask == 1, 0, tokenizer.pad_token_type_id)
        found["token_type_ids"] = torch.from_numpy(segments)
    return found | {name: probe[name] for name in TOLD_ASIDE if name in probe}


def length_batches(lengths: Sequence[int], tokens: int, most: int | None = None) -> list[list[int]]:
    """Positions by falling length, grouped so that rows x longest <= `tokens`; a longer row stands alone.

    most: rows a batch at most. The order of equal lengths is that of their positions.
    """
    batches: list[list[int]] = []
    room = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or len(batches[-1]) >= room:
            batches.append([])
            room = max(1, tokens // max(1, lengths[position]))
            room = room if most is None else min(room, max(1, most))
        batches[-1].append(position)
    return batches
