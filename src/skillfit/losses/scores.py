"""From embeddings to the score matrix, and which of its columns are no negatives."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def passage_scores(
    queries: Tensor, documents: Tensor, owner: Tensor, columns: int, how: Literal["max", "mean"] = "max"
) -> Tensor:
    """(B, M) score of each query with each column: the best or the mean of its texts' dot products.

    queries: (B, H). documents: (P, H), one row a text. owner: (P,) the column of each text; every one of the M =
    `columns` columns has at least one. The gradient of a best score goes to the best text, shared among equal ones.
    Raises ValueError for a column without a text.
    """
    texts = torch.bincount(owner, minlength=columns)
    if len(texts) != columns or bool((texts == 0).any()):
        raise ValueError(f"{columns} columns, of which {int((texts[:columns] == 0).sum())} have no text")
    scores = queries @ documents.T
    if len(owner) == columns:
        order = torch.empty_like(owner)
        order[owner] = torch.arange(columns, device=owner.device)
        return scores[:, order]
    index = owner.expand(len(queries), -1)
    start = scores.new_zeros(len(queries), columns)
    return start.scatter_reduce(1, index, scores, reduce={"max": "amax", "mean": "mean"}[how], include_self=False)


def false_negative_mask(skills: Tensor, positive: Tensor, answers: Tensor) -> Tensor:
    """(B, M), True where a column's skill answers the row's query but the column is not its positive.

    skills: (M,) skill numbers of the columns. positive: (B,) column. answers: (B, A) skill numbers, padded with -1.
    """
    mask = (skills.view(1, -1, 1) == answers.unsqueeze(1)).any(dim=2)
    return mask.scatter(1, positive.unsqueeze(1), False)


def first_columns(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Columns without repeats: (K,) positions of first occurrences in order, (M,) where each column went among them.

    keys: (M,) a number for each column's document; processes that encoded the same document give the same number.
    """
    first: dict[int, int] = {}
    for position, key in enumerate(keys.tolist()):
        first.setdefault(key, position)
    place = {key: column for column, key in enumerate(first)}
    kept = torch.tensor(list(first.values()), dtype=torch.long, device=keys.device)
    remap = torch.tensor([place[key] for key in keys.tolist()], dtype=torch.long, device=keys.device)
    return kept, remap
