"""What a user sets about the training loop, checked before Lightning loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.errors import UserError
from skillfit.training.lightning_options import check_extra

Precision = Literal["32-true", "bf16-mixed", "16-mixed", "bf16-true"]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TrainerOptions:
    """The options of Lightning's Trainer that a run is likely to set; `extra` passes any other to it by name.

    strategy: null is DDP where there are several devices. threads: compute threads of a process, null as torch chooses.
    """

    max_epochs: int = Field(default=1, ge=1)
    max_steps: int = Field(default=-1, ge=-1)
    accelerator: Literal["cpu", "gpu", "auto"] = "cpu"
    devices: int | str = 1
    strategy: str | None = None
    precision: Precision = "32-true"
    accumulate_grad_batches: int = Field(default=1, ge=1)
    gradient_clip_val: float | None = Field(default=1.0, gt=0)
    threads: int | None = Field(default=None, ge=1)
    extra: dict[str, Any] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_steps == 0:
            raise UserError("config", "max_steps", 0, "use a number of steps from 1, or -1 for no bound but max_epochs")
        check_extra(self.extra)

    def processes(self) -> int:
        """How many processes train together."""
        import torch

        if str(self.devices).isdecimal():
            return int(self.devices)
        return max(1, torch.cuda.device_count()) if self.accelerator != "cpu" else 1  # "auto" or "-1"

    def optimiser_steps(self, rows: int, batch_size: int) -> int:
        """How many optimiser steps the run takes over `rows` training rows with `batch_size` of them a process."""
        batches = -(-rows // (batch_size * self.processes()))
        total = self.max_epochs * -(-batches // self.accumulate_grad_batches)
        return min(total, self.max_steps) if self.max_steps > 0 else total

    def trainer(self, *, folder: Path, logger: Any, callbacks: list[Any]) -> Any:
        """Build the Trainer. Raises UserError without the GPU asked for."""
        import pytorch_lightning as pl
        import torch

        from skillfit.training.signals import KeepSigterm

        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise UserError("config", "trainer.accelerator", "gpu", "no GPU is found; use trainer=cpu")
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        return pl.Trainer(
            max_epochs=self.max_epochs,
            max_steps=self.max_steps,
            accelerator=self.accelerator,
            devices=self.devices,
            # An encoder may hold weights that no sentence embedding uses, such as BERT's pooler.
            strategy=self.strategy or ("auto" if self.devices in (1, "1") else "ddp_find_unused_parameters_true"),
            use_distributed_sampler=False,  # the loader knows its share
            precision=self.precision,
            accumulate_grad_batches=self.accumulate_grad_batches,
            gradient_clip_val=self.gradient_clip_val,
            default_root_dir=folder,
            logger=logger,
            callbacks=[KeepSigterm(), *callbacks],
            deterministic=True,
            num_sanity_val_steps=0,
            log_every_n_steps=1,
            enable_model_summary=False,
            enable_progress_bar=False,
            **self.extra,
        )
