"""Training pairs as a Lightning DataModule, in an order that depends on seed and epoch alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytorch_lightning as pl
from torch.utils.data import DataLoader, Sampler

from skillfit.data.collate import RetrieverBatch, RetrieverCollate
from skillfit.data.examples import Pair


class EpochSampler(Sampler[int]):
    """A fresh permutation an epoch, drawn from (seed, epoch): the same in any process, for any number of workers."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed, self.epoch = size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning at the start of each epoch, and after a resume."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(self.size)
        return iter(order.tolist())

    def __len__(self) -> int:
        return self.size


class PairDataModule(pl.LightningDataModule):
    """Batches of training pairs; the last, shorter batch of an epoch is kept so that no pair is lost."""

    def __init__(
        self, pairs: Sequence[Pair], collate: RetrieverCollate, *, batch_size: int, seed: int, workers: int = 0
    ) -> None:
        super().__init__()
        self.pairs, self.collate, self.batch_size, self.seed, self.workers = pairs, collate, batch_size, seed, workers

    def train_dataloader(self) -> DataLoader[RetrieverBatch]:
        """The pairs of one epoch."""
        return DataLoader(
            self.pairs,
            batch_size=self.batch_size,
            sampler=EpochSampler(len(self.pairs), self.seed),
            collate_fn=self.collate,
            num_workers=self.workers,
        )
