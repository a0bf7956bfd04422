"""Training pairs as a Lightning DataModule, in an order that depends on seed and epoch alone and can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
from torch.utils.data import DataLoader, Sampler

from skillfit.data.collate import RetrieverBatch, RetrieverCollate
from skillfit.data.examples import Pair


class EpochBatches(Sampler[list[int]]):
    """Batches of row numbers: a fresh permutation an epoch, drawn from (seed, epoch), cut into global batches.

    A global batch is `batch_size` rows for each of `world` processes, and process `rank` takes its part in row order:
    the same rows meet in a step on one process with a batch of 8 and on two with a batch of 4. The last, shorter batch
    is kept and shared out evenly; if it has fewer rows than there are processes, it joins the batch before it. start:
    the batch of the epoch to begin with.
    """

    def __init__(self, size: int, batch_size: int, seed: int, *, rank: int = 0, world: int = 1) -> None:
        if size < world:
            raise ValueError(f"{size} rows cannot be shared by {world} processes")
        self.size, self.batch_size, self.seed = size, batch_size, seed
        self.rank, self.world, self.epoch, self.start = rank, world, 0, 0
        full = batch_size * world
        ends = [*range(full, size, full), size]
        if len(ends) > 1 and ends[-1] - ends[-2] < world:
            del ends[-2]
        self._ends: list[int] = ends

    @property
    def sampler(self) -> EpochBatches:
        """Where Lightning looks for `set_epoch` in a batch sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning at the start of each epoch, and after a resume."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.size)
        starts = [0, *self._ends[:-1]]
        for begin, end in list(zip(starts, self._ends, strict=True))[self.start :]:
            yield np.array_split(order[begin:end], self.world)[self.rank].tolist()

    def __len__(self) -> int:
        return len(self._ends)

    def rows(self, batch: int) -> int:
        """How many rows all processes together have in a batch of the epoch."""
        return self._ends[batch] - (self._ends[batch - 1] if batch else 0)


class ResumableLoader(DataLoader[RetrieverBatch]):
    """A DataLoader that Lightning saves and restores in mid-epoch through `state_dict`.

    It counts the batches handed out, not those that workers have read ahead.
    """

    def __init__(self, rows: Any, batches: EpochBatches, **settings: Any) -> None:
        super().__init__(rows, batch_sampler=batches, **settings)
        self.batches = batches
        self._place = {"epoch": 0, "done": 0}

    def __iter__(self) -> Iterator[RetrieverBatch]:
        # A generator: nothing happens before the first batch is asked for, when epoch and restored place are known.
        resumed = self._place["epoch"] == self.batches.epoch and self._place["done"] < len(self.batches)
        self.batches.start = self._place["done"] if resumed else 0
        self._place = {"epoch": self.batches.epoch, "done": self.batches.start}
        for batch in super().__iter__():
            self._place["done"] += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Epoch and number of batches handed out."""
        return dict(self._place)

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Take the place back."""
        self._place = dict(state_dict)


class PairDataModule(pl.LightningDataModule):
    """Batches of training pairs. batch_size: rows a process and step; no pair is ever left out."""

    def __init__(
        self, pairs: Sequence[Pair], collate: RetrieverCollate, *, batch_size: int, seed: int, workers: int = 0
    ) -> None:
        super().__init__()
        self.pairs, self.collate, self.batch_size, self.seed, self.workers = pairs, collate, batch_size, seed, workers

    def train_dataloader(self) -> ResumableLoader:
        """The pairs of one epoch, this process's share of them."""
        rank, world = (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
        batches = EpochBatches(len(self.pairs), self.batch_size, self.seed, rank=rank, world=world)
        return ResumableLoader(self.pairs, batches, collate_fn=self.collate, num_workers=self.workers)
