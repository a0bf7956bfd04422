"""Train a component: `python train.py component=retriever data=…` (see conf/train.yaml)."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from skillfit.cli.app import build, job, set_up_logging, start_run
from skillfit.cli.trackers import check_tracker, tracker


@job("train")
def main(cfg: DictConfig) -> float:
    """Fit the component, leave `model/` in the run folder, and return its dev metric for sweeps."""
    set_up_logging(cfg.verbose)
    check_tracker(cfg)
    fitter, data, options = build(cfg, "component"), build(cfg, "data"), build(cfg, "trainer")
    benchmark = data.load_all(Path(cfg.cache).expanduser(), unknown=cfg.qrels.unknown)
    prepared = fitter.check(benchmark, [], int(cfg.seed))
    with start_run(cfg, "train") as run, tracker(cfg) as logger:
        run.metric = float(fitter.fit(benchmark, prepared, options, logger, run))
        return run.metric


if __name__ == "__main__":
    main()
