"""Rows to padded tensors: which columns a batch has, in which chunks they are encoded, who answers what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skillfit.data.examples import Pair
from skillfit.data.token_store import TokenStore

if TYPE_CHECKING:
    from torch import Tensor

Features = dict[str, Any]
Pad = Callable[[Sequence[np.ndarray]], Features]
Cut = Callable[[Sequence[int]], list[list[int]]]


@dataclass  # not frozen: Lightning moves a batch to its device field by field
class RetrieverBatch:
    """B queries and the M distinct documents of the batch, P texts in all (a document may have several passages).

    queries, documents: chunks of what the encoder's forward takes, each of texts of like length; query_order (B,) and
    document_order (P,): where each row's embedding stands in the chunks put one after another. owner: (P,) the column
    of each text. keys, skills: (M,) a number for each column's document and for its skill, the same in every process.
    positive: (B,) column of each row's positive. answers: (B, A) skill numbers that are no negatives of the row, padded
    with -1. own: (B, M), True where the column is one of the row's own mined negatives. mined: (M,), True where the
    column is the positive of no row. teacher: (B, M) reranker scores, NaN where there is none; None without any.
    """

    queries: list[Features]
    documents: list[Features]
    query_order: Tensor
    document_order: Tensor
    owner: Tensor
    keys: Tensor
    skills: Tensor
    positive: Tensor
    answers: Tensor
    own: Tensor
    mined: Tensor
    teacher: Tensor | None = None

    def __len__(self) -> int:
        return len(self.positive)


@dataclass(frozen=True)
class TextRows:
    """Where the tokens of queries or documents lie: key -> rows of a store (one, or one a passage)."""

    store: TokenStore
    rows: Mapping[str, tuple[int, ...]]
    pad: Pad
    cut: Cut


@dataclass(frozen=True)
class RetrieverCollate:
    """Turn pairs into a batch in which each distinct document is encoded once; its other queries share the column.

    skill_numbers: skill_id -> number, over the whole corpus.
    """

    queries: TextRows
    documents: TextRows
    skill_numbers: Mapping[str, int]
    _key_numbers: dict[str, int] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._key_numbers.update((key, number) for number, key in enumerate(self.documents.rows))

    def __call__(self, pairs: Sequence[Pair]) -> RetrieverBatch:
        """Collate B pairs; the columns stand in order of first appearance, positives before negatives."""
        import torch

        positives = dict.fromkeys((pair.document or pair.skill_id for pair in pairs), True)
        skill_of = {pair.document or pair.skill_id: pair.skill_id for pair in pairs}
        negatives = [[skill for skill in pair.negatives if skill not in pair.answers] for pair in pairs]
        skill_of |= {skill: skill for row in negatives for skill in row}
        columns = {key: number for number, key in enumerate([*positives, *(k for k in skill_of if k not in positives)])}
        rows = [self.documents.rows[key] for key in columns]
        texts, owner = [r for row in rows for r in row], np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        documents, document_order = _chunks(self.documents, texts)
        queries, query_order = _chunks(self.queries, [self.queries.rows[pair.query_id][0] for pair in pairs])
        own = torch.zeros(len(pairs), len(columns), dtype=torch.bool)
        for number, row in enumerate(negatives):
            own[number, [columns[skill] for skill in row]] = True
        return RetrieverBatch(
            queries=queries,
            documents=documents,
            query_order=query_order,
            document_order=document_order,
            owner=torch.from_numpy(owner),
            keys=torch.tensor([self._key_numbers[key] for key in columns]),
            skills=torch.tensor([self.skill_numbers[skill_of[key]] for key in columns]),
            positive=torch.tensor([columns[pair.document or pair.skill_id] for pair in pairs]),
            answers=self._answers(pairs),
            own=own,
            mined=torch.tensor([key not in positives for key in columns]),
            teacher=_teacher(pairs, columns),
        )

    def _answers(self, pairs: Sequence[Pair]) -> Tensor:
        import torch

        numbers = self.skill_numbers
        known = [[numbers[skill] for skill in sorted(p.answers | {p.skill_id}) if skill in numbers] for p in pairs]
        width = max(map(len, known))
        return torch.tensor([[*row, *[-1] * (width - len(row))] for row in known])


def _chunks(texts: TextRows, rows: Sequence[int]) -> tuple[list[Features], Tensor]:
    """The rows as padded chunks of like length, and where each row stands in them."""
    import torch

    groups = texts.cut([int(texts.store.lengths[row]) for row in rows])
    order = torch.empty(len(rows), dtype=torch.long)
    order[torch.tensor([position for group in groups for position in group])] = torch.arange(len(rows))
    return [texts.pad([texts.store[rows[position]] for position in group]) for group in groups], order


def _teacher(pairs: Sequence[Pair], columns: Mapping[str, int]) -> Tensor | None:
    import torch

    if not any(pair.teacher for pair in pairs):
        return None
    scores = torch.full((len(pairs), len(columns)), float("nan"))
    for number, pair in enumerate(pairs):
        for skill, score in (pair.teacher or {}).items():
            key = pair.document if skill == pair.skill_id and pair.document else skill
            if key in columns:
                scores[number, columns[key]] = score
    return scores
