"""One of several gloo processes that train a small net on shares of the same rows; run by test_gather.py."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from skillfit.data.collate import RetrieverBatch
from skillfit.losses import cached_loss
from skillfit.training.objective import ContrastiveObjective

# Eight queries; the skill of each (5 is required twice, by rows of both halves), and a mined skill of some.
POSITIVE = [0, 1, 2, 5, 3, 4, 5, 6]
MINED = {1: 7, 3: 0, 6: 8, 7: 7}
PASSAGES = {skill: 1 + skill % 2 for skill in range(9)}
FEATURES = torch.randn(64, 6, generator=torch.Generator().manual_seed(5))
OBJECTIVES = {
    "plain": ContrastiveObjective(temperature=0.3),
    "unshared": ContrastiveObjective(temperature=0.3, shared=False),
    "matryoshka": ContrastiveObjective(temperature=0.3, matryoshka=(2, 4)),
}


def batch_of(rows: list[int]) -> tuple[Tensor, Tensor, RetrieverBatch]:
    """Query rows, document rows and what the collate function would say of them."""
    columns = list(dict.fromkeys([POSITIVE[row] for row in rows] + [MINED[row] for row in rows if row in MINED]))
    positives = {POSITIVE[row] for row in rows}
    owner = [column for column, skill in enumerate(columns) for _ in range(PASSAGES[skill])]
    documents = [20 + 3 * skill + part for skill in columns for part in range(PASSAGES[skill])]
    own = torch.zeros(len(rows), len(columns), dtype=torch.bool)
    for number, row in enumerate(rows):
        if row in MINED:
            own[number, columns.index(MINED[row])] = True
    batch = RetrieverBatch(
        queries=[],
        documents=[],
        query_order=torch.arange(len(rows)),
        document_order=torch.arange(len(documents)),
        owner=torch.tensor(owner),
        keys=torch.tensor(columns),
        skills=torch.tensor(columns),
        positive=torch.tensor([columns.index(POSITIVE[row]) for row in rows]),
        answers=torch.tensor([[POSITIVE[row]] for row in rows]),
        own=own,
        mined=torch.tensor([skill not in positives for skill in columns]),
    )
    return FEATURES[rows], FEATURES[documents], batch


def gradients(rows: list[int], name: str, *, cached: bool, ddp: bool) -> dict[str, Tensor]:
    """Loss share and parameter gradients after one step on these rows."""
    torch.manual_seed(0)
    net: torch.nn.Module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    wrapped = torch.nn.parallel.DistributedDataParallel(Step(net)) if ddp else Step(net)
    queries, documents, batch = batch_of(rows)
    loss = wrapped(queries, documents, batch, name, cached)
    loss.backward()
    return {"loss": loss.detach()} | {key: p.grad for key, p in net.named_parameters() if p.grad is not None}


class Step(torch.nn.Module):
    """What Lightning's DDP wraps: the whole training step."""

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, queries: Tensor, documents: Tensor, batch: RetrieverBatch, name: str, cached: bool) -> Tensor:
        def encode(part: Tensor) -> Tensor:
            return torch.nn.functional.normalize(self.net(part), dim=1)

        def objective(parts: list[Tensor]) -> Tensor:
            rows = torch.cat(parts)
            return OBJECTIVES[name](rows[: len(queries)], rows[len(queries) :], batch).loss

        chunks = [*queries.split(3), *documents.split(3)]
        if cached:
            return cached_loss(chunks, encode, objective, list(self.net.parameters()))
        return objective([encode(part) for part in chunks])


def main(rank: int, world: int, folder: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder / 'meet'}", rank=rank, world_size=world)
    shares = {"even": [[0, 1, 2, 3], [4, 5, 6, 7]], "uneven": [[0, 1, 2, 3, 4], [5, 6, 7]]}
    found = {
        f"{share}/{name}/{'cached' if cached else 'plain'}": gradients(rows[rank], name, cached=cached, ddp=True)
        for share, rows in shares.items()
        for name in OBJECTIVES
        for cached in (False, True)
    }
    torch.save(found, folder / f"{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
