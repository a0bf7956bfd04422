"""The run of a Lightning module shared by every trained component: checkpoints, dev history, best weights, resume."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint

from skillfit.errors import UserError
from skillfit.training.callbacks import DevEvaluation, EpochRow, ResumePoint, StepLines
from skillfit.training.memory import keep_freed_memory
from skillfit.training.options import TrainerOptions

log = logging.getLogger(__name__)
BEST, RESUME = "best", "resume.ckpt"
for _chatty in ("pytorch_lightning", "lightning_fabric"):  # they set INFO on import: hints and device lists
    logging.getLogger(_chatty).setLevel(logging.WARNING)


@dataclass(frozen=True)
class FitSettings:
    """monitor: the dev measure that decides; patience: epochs without a better one until the run stops, None never.

    checkpoint_every: optimiser steps between two points to resume from. resume: continue from the folder's point.
    evaluate_every: epochs between two dev evaluations.
    """

    monitor: str
    patience: int | None
    checkpoint_every: int
    resume: bool
    evaluate_every: int = 1


def fit_module(
    module: pl.LightningModule,
    data: pl.LightningDataModule,
    evaluation: DevEvaluation,
    options: TrainerOptions,
    settings: FitSettings,
    *,
    logger: Any,
    folder: Path,
) -> pl.Trainer:
    """Train, and load the epoch with the highest dev `monitor` back into the module.

    `checkpoints/best.ckpt` and `resume.ckpt` hold plain tensors and numbers, so they load in torch's safe mode. Raises
    UserError for a checkpoint that is damaged or of another model.
    """
    keep_freed_memory()
    checkpoints = folder / "checkpoints"
    best = ModelCheckpoint(
        dirpath=checkpoints,
        filename=BEST,
        monitor=f"val/{settings.monitor}",
        mode="max",
        every_n_epochs=settings.evaluate_every,
        save_on_train_epoch_end=True,
        enable_version_counter=False,
    )
    callbacks: list[Any] = [evaluation, StepLines()]
    if settings.patience is not None:
        rule = {"mode": "max", "patience": settings.patience, "check_on_train_epoch_end": True}
        callbacks.append(EarlyStopping(f"val/{settings.monitor}", **rule))
    callbacks += [best, ResumePoint(checkpoints / RESUME, settings.checkpoint_every)]
    start = _resume_point(checkpoints / RESUME, module) if settings.resume else None
    with warnings.catch_warnings():
        # Its advice on worker counts and deprecated tree helpers is not for users of a config.
        warnings.filterwarnings("ignore", module="pytorch_lightning")
        trainer = options.trainer(folder=folder, logger=logger, callbacks=callbacks)
        trainer.fit(module, datamodule=data, ckpt_path=start, weights_only=True)
    trainer.strategy.barrier()
    saved = torch.load(checkpoints / f"{BEST}.ckpt", map_location="cpu", weights_only=True)["state_dict"]
    module.load_state_dict(saved, strict=module.strict_loading)
    return trainer


def best_epoch(history: list[EpochRow], monitor: str) -> EpochRow:
    """The first epoch with the highest `monitor`; a warning says so if it does not beat the untrained model."""
    start, epochs = history[0], history[1:]
    best = max(epochs, key=lambda row: row["values"][monitor])
    if best["values"][monitor] <= start["values"][monitor]:
        message = "no epoch beats the untrained model on dev %s (%.4f against %.4f)"
        log.warning(message, monitor, best["values"][monitor], start["values"][monitor])
    return best


def _resume_point(file: Path, module: pl.LightningModule) -> Path | None:
    """The checkpoint to continue from; None if the run was interrupted before its first one."""
    if not file.is_file():
        log.info("resume: no checkpoint yet in %s, so from step 0", file.parent)
        return None
    try:
        saved = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        weights, step = saved["state_dict"], saved["global_step"]
    except Exception as error:  # a damaged archive, or one that holds more than plain data
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
        fix = f"cannot be read safely ({reason}); start a new run, or from its weights with component.model"
        raise UserError(file, fix=fix) from error
    own = module.state_dict()
    for name, tensor in weights.items():
        if name not in own or own[name].shape != tensor.shape:
            here = tuple(own[name].shape) if name in own else "no such weight"
            raise UserError(file, name, tuple(tensor.shape), f"is another model's checkpoint: this model has {here}")
    log.info("resume at step %d of %s", step, file)
    return file
