"""What happens around the steps: dev evaluation after each epoch, and a line a while on how far the run is."""

from __future__ import annotations

import logging
import time
from typing import Any, TypedDict

import pytorch_lightning as pl

from skillfit.models.bi_encoder import BiEncoder
from skillfit.training.dev import DevSet

log = logging.getLogger(__name__)


class EpochRow(TypedDict):
    """The dev evaluation after an epoch: n scored queries, macro means and interval bounds by measure; plain data."""

    epoch: int
    loss: float | None
    n: int
    values: dict[str, float]
    bounds: dict[str, list[float]]


class DevEvaluation(pl.Callback):
    """Evaluate the dev queries before the first step and after each epoch; `val/<measure>` is what is monitored.

    history: one `EpochRow` an evaluation, in the order measured; epoch 0 is the model as it came.
    """

    def __init__(self, encoder: BiEncoder, dev: DevSet) -> None:
        self.encoder, self.dev = encoder, dev
        self.history: list[EpochRow] = []

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the starting point, unless the run is a resumed one."""
        if trainer.global_step == 0:
            self._measure(0, None)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the epoch that ends and hand the values to the checkpoint callback."""
        loss = float(trainer.callback_metrics["train/loss_epoch"])
        row = self._measure(trainer.current_epoch + 1, loss)
        for name, value in row["values"].items():
            pl_module.log(f"val/{name}", value, rank_zero_only=True)

    def state_dict(self) -> dict[str, Any]:
        """The history goes into the checkpoint, so that a resumed run reports the whole of it."""
        return {"history": self.history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the history back."""
        self.history = list(state_dict["history"])

    def _measure(self, epoch: int, loss: float | None) -> EpochRow:
        found = self.dev.evaluate(self.encoder)
        row = EpochRow(
            epoch=epoch,
            loss=loss,
            n=min(interval.n for interval in found.values()),
            values={name: interval.value for name, interval in found.items()},
            bounds={name: [interval.low, interval.high] for name, interval in found.items()},
        )
        self.history.append(row)
        shown = "  ".join(f"{name} {100 * value:.1f}" for name, value in row["values"].items())
        log.info("epoch %d: %sdev %s", epoch, "" if loss is None else f"loss {loss:.3f}  ", shown)
        return row


class StepLines(pl.Callback):
    """A plain line at most every `seconds`: step, loss, speed and the time left."""

    def __init__(self, seconds: float = 20.0) -> None:
        self.seconds, self.last, self.started = seconds, 0.0, 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self.started = self.last = time.monotonic()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write a line if the last one is old enough."""
        now = time.monotonic()
        if now - self.last < self.seconds:
            return
        self.last = now
        done, total = trainer.global_step, trainer.estimated_stepping_batches
        left = (now - self.started) / max(1, done) * (total - done)
        log.info("step %d of %d: loss %.3f, about %.0f s left", done, total, float(outputs["loss"]), left)
