"""What a user sets about the training loop, checked before Lightning loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.errors import UserError, suggest

Precision = Literal["32-true", "bf16-mixed", "16-mixed", "bf16-true"]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TrainerOptions:
    """The options of Lightning's Trainer that a run is likely to set; `extra` passes any other to it by name."""

    max_epochs: int = Field(default=1, ge=1)
    max_steps: int = Field(default=-1, ge=-1)
    accelerator: Literal["cpu", "gpu", "auto"] = "cpu"
    devices: int | str = 1
    precision: Precision = "32-true"
    accumulate_grad_batches: int = Field(default=1, ge=1)
    gradient_clip_val: float | None = Field(default=1.0, gt=0)
    threads: int | None = Field(default=None, ge=1)
    extra: dict[str, Any] = Field(default_factory=dict)

    def trainer(self, *, folder: Path, logger: Any, callbacks: list[Any]) -> Any:
        """Build the Trainer. Raises UserError without the GPU asked for, or for an unknown name in `extra`."""
        import inspect

        import pytorch_lightning as pl
        import torch

        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise UserError("config", "trainer.accelerator", "gpu", "no GPU is found; use trainer=cpu")
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        known = set(inspect.signature(pl.Trainer.__init__).parameters) - {"self"}
        for name, value in self.extra.items():
            if name not in known:
                raise UserError(
                    "config", f"trainer.extra.{name}", value, f"no such Trainer option; {suggest(name, known)}"
                )
        return pl.Trainer(
            max_epochs=self.max_epochs,
            max_steps=self.max_steps,
            accelerator=self.accelerator,
            devices=self.devices,
            precision=self.precision,
            accumulate_grad_batches=self.accumulate_grad_batches,
            gradient_clip_val=self.gradient_clip_val,
            default_root_dir=folder,
            logger=logger,
            callbacks=callbacks,
            deterministic=True,
            num_sanity_val_steps=0,
            log_every_n_steps=1,
            enable_model_summary=False,
            enable_progress_bar=False,
            **self.extra,
        )
