"""A job of conf/train.yaml that trains nothing: its metric is highest at a learning rate of 1e-4, above 1 it fails."""

from __future__ import annotations

import math
import os
import time

from omegaconf import DictConfig

from skillfit.cli.app import job, start_run
from skillfit.cli.trackers import check_tracker, tracker
from skillfit.errors import UserError


@job("train")
def main(cfg: DictConfig) -> float:
    check_tracker(cfg)
    with start_run(cfg, "train") as run, tracker(cfg):
        if run.is_primary:
            with (run.path / "attempts").open("a") as handle:
                handle.write(f"{run.resumed}\n")
        time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
        rate = float(cfg.component.learning_rate)
        if rate > 1:
            raise UserError("training", "loss", "nan", "is not finite")
        run.metric = 1 / (1 + abs(math.log10(rate) + 4))
        return run.metric


if __name__ == "__main__":
    main()
