"""Train the toy retriever and die by SIGKILL: `python killed.py FOLDER MODEL STEP OPTIONS`.

The process kills itself after optimiser step STEP, so the moment is exact.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytorch_lightning as pl

from fake_training import fit, toy_benchmark
from skillfit.training.callbacks import StepLines


def main(folder: str, model: str, step: int, options: dict[str, object]) -> None:
    after = StepLines.on_train_batch_end

    def dies(self: StepLines, trainer: pl.Trainer, *rest: object) -> None:
        after(self, trainer, *rest)  # type: ignore[arg-type]
        if step and trainer.global_step == step:
            os.kill(os.getpid(), signal.SIGKILL)

    StepLines.on_train_batch_end = dies  # type: ignore[assignment,method-assign]
    fit(Path(folder), toy_benchmark(), Path(model), epochs=3, seed=7, resume=True, **options)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
