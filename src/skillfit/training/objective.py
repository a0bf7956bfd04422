"""What a retriever is trained for: the loss of a batch from its embeddings, gathered over all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

if TYPE_CHECKING:
    from torch import Tensor

    from skillfit.data.collate import RetrieverBatch


class Outcome(NamedTuple):
    """loss: scalar, to be averaged over processes. candidates: columns left to a query, its positive included, mean."""

    loss: Tensor
    candidates: Tensor


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class ContrastiveObjective:
    """InfoNCE over all columns of the batch, of all processes with `gather`; every answer of a query but its positive
    is masked.

    passages: how the passages of a skill become one score. shared: mined negatives also serve the batch's other
    queries. matryoshka: embedding sizes whose losses are averaged. distillation: weight of the margin-MSE term on
    columns that have a teacher score.
    """

    temperature: float = Field(default=0.05, gt=0)
    passages: Literal["max", "mean"] = "max"
    shared: bool = True
    gather: bool = True
    matryoshka: tuple[int, ...] | None = None
    distillation: float = Field(default=0.0, ge=0)

    def __call__(self, queries: Tensor, documents: Tensor, batch: RetrieverBatch) -> Outcome:
        """queries: (B, H) and documents: (P, H) of this process, float32. The loss is this process's share: its mean
        over processes is the mean over all rows, also where processes have unequally many.
        """
        from skillfit.losses import gather, matryoshka
        from skillfit.losses.scores import false_negative_mask

        documents, columns = self._columns(documents, batch)
        mask = false_negative_mask(columns.skills, columns.positive, batch.answers)
        if not self.shared:
            mask = mask | (columns.mined & ~columns.own)
            mask = mask.scatter(1, columns.positive.unsqueeze(1), False)

        def loss(q: Tensor, d: Tensor) -> Tensor:
            return self._loss(q, d, columns, mask, batch)

        total = matryoshka(loss, queries, documents, self.matryoshka) if self.matryoshka else loss(queries, documents)
        weight = gather.row_weight(len(batch), queries.device) if self.gather else 1.0
        return Outcome(total * weight, (~mask).sum(dim=1).float().mean())

    def _columns(self, documents: Tensor, batch: RetrieverBatch) -> tuple[Tensor, _Columns]:
        """The documents and columns of all processes, each document once, in the order of a single process."""
        import torch

        from skillfit.losses.gather import gather_ids, gather_rows, offset_of_rank
        from skillfit.losses.scores import first_columns

        own_columns = len(batch.keys)
        if not self.gather:
            kept = torch.arange(own_columns, device=documents.device)
            same = (batch.skills, batch.positive, batch.mined, batch.own)
            return documents, _Columns(batch.owner, own_columns, 0, kept, *same)
        start = offset_of_rank(own_columns, documents.device)
        keys, skills, mined = gather_ids(batch.keys), gather_ids(batch.skills), gather_ids(batch.mined.long()).bool()
        keep, remap = first_columns(keys)
        own = torch.zeros(len(batch), len(keep), dtype=torch.long, device=documents.device)
        own.index_add_(1, remap[start : start + own_columns], batch.own.long())
        positives = torch.zeros(len(keep), dtype=torch.long, device=documents.device)
        positives.index_add_(0, remap, (~mined).long())
        return gather_rows(documents), _Columns(
            owner=gather_ids(batch.owner + start),
            total=len(keys),
            start=start,
            kept=keep,
            skills=skills[keep],
            positive=remap[batch.positive + start],
            mined=positives == 0,
            own=own > 0,
        )

    def _loss(self, q: Tensor, d: Tensor, columns: _Columns, mask: Tensor, batch: RetrieverBatch) -> Tensor:
        from skillfit.losses import info_nce, margin_mse
        from skillfit.losses.scores import passage_scores

        scores = passage_scores(q, d, columns.owner, columns.total, self.passages)
        total = info_nce(scores[:, columns.kept], columns.positive, temperature=self.temperature, mask=mask)
        if self.distillation and batch.teacher is not None:
            own = scores[:, columns.start : columns.start + len(batch.keys)]
            total = total + self.distillation * margin_mse(own, batch.positive, batch.teacher)
        return total


class _Columns(NamedTuple):
    """owner: (P,) of all texts among `total` columns, this process's from `start` on; kept: (K,) the distinct ones.

    The rest is over the kept columns.
    """

    owner: Tensor
    total: int
    start: int
    kept: Tensor
    skills: Tensor
    positive: Tensor
    mined: Tensor
    own: Tensor
