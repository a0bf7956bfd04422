"""The run of a Lightning module shared by every trained component: seed, checkpoints, dev history, best weights."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from skillfit.training.callbacks import DevEvaluation, EpochRow, StepLines
from skillfit.training.options import TrainerOptions

log = logging.getLogger(__name__)
for _chatty in ("pytorch_lightning", "lightning_fabric"):  # they set INFO on import: hints and device lists
    logging.getLogger(_chatty).setLevel(logging.WARNING)


def fit_module(
    module: pl.LightningModule,
    data: pl.LightningDataModule,
    evaluation: DevEvaluation,
    options: TrainerOptions,
    *,
    monitor: str,
    logger: Any,
    folder: Path,
) -> list[EpochRow]:
    """Train, load the epoch with the highest dev `monitor` back into the module, and return the dev history.

    `checkpoints/best.ckpt` and `last.ckpt` hold plain tensors and numbers, so they load in torch's safe mode.
    """
    best = ModelCheckpoint(
        dirpath=folder / "checkpoints",
        filename="best",
        monitor=f"val/{monitor}",
        mode="max",
        save_last=True,
        save_on_train_epoch_end=True,
        enable_version_counter=False,
    )
    with warnings.catch_warnings():
        # Its advice on worker counts and deprecated tree helpers is not for users of a config.
        warnings.filterwarnings("ignore", module="pytorch_lightning")
        trainer = options.trainer(folder=folder, logger=logger, callbacks=[evaluation, StepLines(), best])
        trainer.fit(module, datamodule=data)
    module.load_state_dict(torch.load(best.best_model_path, map_location="cpu", weights_only=True)["state_dict"])
    return evaluation.history


def best_epoch(history: list[EpochRow], monitor: str) -> EpochRow:
    """The first epoch with the highest `monitor`; a warning says so if it does not beat the untrained model."""
    start, epochs = history[0], history[1:]
    best = max(epochs, key=lambda row: row["values"][monitor])
    if best["values"][monitor] <= start["values"][monitor]:
        message = "no epoch beats the untrained model on dev %s (%.4f against %.4f)"
        log.warning(message, monitor, best["values"][monitor], start["values"][monitor])
    return best
