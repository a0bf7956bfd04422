"""Rows to padded tensors: prompts, truncation and the mask of false negatives live here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillfit.data.examples import Pair

if TYPE_CHECKING:
    from torch import Tensor

Features = dict[str, Any]
Preprocess = Callable[[list[str]], Features]


@dataclass  # not frozen: Lightning moves a batch to its device field by field
class RetrieverBatch:
    """B queries and the M distinct skills they need.

    queries, documents: what the encoder's forward takes. positive: (B,) column of each row's positive.
    mask: (B, M), True where the column answers the row's query but is not its positive.
    """

    queries: Features
    documents: Features
    positive: Tensor
    mask: Tensor


@dataclass(frozen=True)
class RetrieverCollate:
    """Turn pairs into a batch in which each distinct skill is encoded once; its other queries share the column."""

    query_texts: Mapping[str, str]
    skill_texts: Mapping[str, str]
    preprocess_query: Preprocess
    preprocess_document: Preprocess

    def __call__(self, pairs: Sequence[Pair]) -> RetrieverBatch:
        """Collate B pairs; the columns stand in order of first appearance."""
        import torch

        columns = {skill_id: None for skill_id in (pair.skill_id for pair in pairs)}
        index = {skill_id: column for column, skill_id in enumerate(columns)}
        positive = torch.tensor([index[pair.skill_id] for pair in pairs])
        mask = torch.tensor([[s in pair.answers and s != pair.skill_id for s in columns] for pair in pairs])
        return RetrieverBatch(
            queries=self.preprocess_query([self.query_texts[pair.query_id] for pair in pairs]),
            documents=self.preprocess_document([self.skill_texts[skill_id] for skill_id in columns]),
            positive=positive,
            mask=mask,
        )
