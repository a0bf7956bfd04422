"""Train a component: `python train.py component=retriever data=…` (see conf/train.yaml)."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from skillfit.cli.app import build, job, refuse_taken_folder, set_up_logging, start_run


@job("train")
def main(cfg: DictConfig) -> float:
    """Fit the component, leave `model/` in the run folder, and return its dev metric for sweeps."""
    set_up_logging(cfg.verbose)
    fitter, data, options = build(cfg, "component"), build(cfg, "data"), build(cfg, "trainer")
    refuse_taken_folder()
    benchmark = data.load_all(Path(cfg.cache).expanduser(), unknown=cfg.qrels.unknown)
    fitter.check(benchmark)
    with start_run(cfg, "train") as folder:
        logger = build(cfg, "logger") if cfg.get("logger") else False
        return float(fitter.fit(benchmark, options, logger, folder))


if __name__ == "__main__":
    main()
