"""Train a component: `python train.py component=retriever data=…` (see conf/train.yaml)."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from skillfit.cli.app import build, job, set_up_logging, start_run
from skillfit.cli.trackers import check_tracker, tracker
from skillfit.data.named import protected_benchmarks


@job("train")
def main(cfg: DictConfig) -> float:
    """Fit the component, leave `model/` in the run folder, and return its dev metric for sweeps."""
    set_up_logging(cfg.verbose)
    check_tracker(cfg)
    fitter, data, options = build(cfg, "component"), build(cfg, "data"), build(cfg, "trainer")
    cache = Path(cfg.cache).expanduser()
    benchmark = data.load_all(cache, unknown=cfg.qrels.unknown)
    protected = protected_benchmarks(cfg.protect, benchmark, cache)
    prepared = fitter.check(benchmark, protected, options, int(cfg.seed))
    with start_run(cfg, "train") as run, tracker(cfg) as logger:
        run.metric = float(fitter.fit(benchmark, prepared, options, logger, run))
        return run.metric


if __name__ == "__main__":
    main()
