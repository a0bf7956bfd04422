"""What happens around the steps: dev evaluation after each epoch, and a line a while on how far the run is."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any, TypedDict, cast

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Checkpoint
from rich.console import Console
from rich.progress import Progress

from skillfit.models.bi_encoder import BiEncoder
from skillfit.training.dev import DevSet

log = logging.getLogger(__name__)


class EpochRow(TypedDict):
    """The dev evaluation after an epoch: n scored queries, macro means and interval bounds by measure; plain data."""

    epoch: int
    step: int
    loss: float | None
    n: int
    values: dict[str, float]
    bounds: dict[str, list[float]]


class DevEvaluation(pl.Callback):
    """Evaluate the dev queries before the first step and after every so many epochs; `val/<measure>` is monitored.

    history: one `EpochRow` an evaluation, in the order measured; epoch 0 is the model as it came. Of several processes
    the first evaluates and tells the others, so the values do not depend on how many there are.
    """

    def __init__(self, encoder: BiEncoder, dev: DevSet, every: int = 1) -> None:
        self.encoder, self.dev, self.every = encoder, dev, every
        self.history: list[EpochRow] = []
        self.losses, self.rows = 0.0, 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the starting point, unless the run is a resumed one."""
        if not self.history:
            self._measure(trainer, 0, None)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add up the epoch's loss; unlike Lightning's own mean, it survives a resume in mid-epoch."""
        self.losses += float(outputs["loss"]) * trainer.accumulate_grad_batches * len(batch)
        self.rows += len(batch)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the epoch that ends and hand the values to the checkpoint callback."""
        epoch, loss = trainer.current_epoch + 1, self.losses / self.rows
        self.losses, self.rows = 0.0, 0
        pl_module.log("train/loss_epoch", loss, rank_zero_only=True)
        if epoch % self.every:
            log.info("epoch %d: loss %.3f", epoch, loss)
            return
        row = self._measure(trainer, epoch, loss)
        for name, value in row["values"].items():
            pl_module.log(f"val/{name}", value)

    def state_dict(self) -> dict[str, Any]:
        """The history goes into the checkpoint, so that a resumed run reports the whole of it."""
        return {"history": self.history, "losses": self.losses, "rows": self.rows}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the history back."""
        self.history = list(state_dict["history"])
        self.losses, self.rows = state_dict["losses"], state_dict["rows"]

    def _measure(self, trainer: pl.Trainer, epoch: int, loss: float | None) -> EpochRow:
        row = self._row(epoch, trainer.global_step, loss) if trainer.is_global_zero else None
        row = cast(EpochRow, trainer.strategy.broadcast(row))
        self.history.append(row)
        shown = "  ".join(f"{name} {100 * value:.1f}" for name, value in row["values"].items())
        log.info("epoch %d: %sdev %s", epoch, "" if loss is None else f"loss {loss:.3f}  ", shown)
        return row

    def _row(self, epoch: int, step: int, loss: float | None) -> EpochRow:
        found = self.dev.evaluate(self.encoder)
        return EpochRow(
            epoch=epoch,
            step=step,
            loss=loss,
            n=min(interval.n for interval in found.values()),
            values={name: interval.value for name, interval in found.items()},
            bounds={name: [interval.low, interval.high] for name, interval in found.items()},
        )


class ResumePoint(Checkpoint):
    """Keep one checkpoint to resume from: after every `steps` optimiser steps and after each epoch's evaluation.

    It is written beside its predecessor and renamed, so a kill leaves the old one or the new one. Lightning runs
    callbacks of this kind after all others, in the order given, so the point knows what they decided.
    """

    def __init__(self, file: Path, steps: int) -> None:
        self.file, self.steps, self.saved = file, steps, 0

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save at the optimiser steps that are due."""
        step = trainer.global_step
        if step != self.saved and step % self.steps == 0:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Save when the epoch is over and evaluated."""
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        self.saved = trainer.global_step
        draft = self.file.with_name(f".{self.file.name}.part")
        trainer.save_checkpoint(draft)
        if trainer.is_global_zero:
            draft.replace(self.file)


class StepLines(pl.Callback):
    """Step, loss, speed and the time left: a bar on a terminal, elsewhere a plain line at most every `seconds`."""

    def __init__(self, seconds: float = 20.0) -> None:
        self.seconds, self.last, self.started, self.first, self.rows = seconds, 0.0, 0.0, 0, 0
        self.bar: Progress | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self.started = self.last = time.monotonic()
        self.first = trainer.global_step
        if sys.stderr.isatty() and trainer.is_global_zero:
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.bar.add_task("training", total=trainer.estimated_stepping_batches, completed=self.first)

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Take the bar away, also after an error."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write a line if the last one is old enough."""
        self.rows += len(batch)
        now = time.monotonic()
        pl_module.log("train/pairs_per_second", self.rows / (now - self.started), rank_zero_only=True)
        loss = float(outputs["loss"]) * trainer.accumulate_grad_batches
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=trainer.global_step, description=f"loss {loss:.3f}")
        if self.bar is not None or now - self.last < self.seconds or not trainer.is_global_zero:
            return
        self.last = now
        done, total = trainer.global_step, trainer.estimated_stepping_batches
        left = (now - self.started) / max(1, done - self.first) * (total - done)
        speed = self.rows / (now - self.started)
        log.info("step %d of %d: loss %.3f, %.1f pairs/s, about %.0f s left", done, total, loss, speed, left)
