"""Evaluate routing: `python evaluate.py suite=routing data=… retriever=… view=…` (see conf/evaluate.yaml)."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from skillfit.cli.app import build, job, set_up_logging, start_run


@job("evaluate")
def main(cfg: DictConfig) -> None:
    """Search (or read a run file), score, and write the run folder with its report."""
    set_up_logging(cfg.verbose)
    suite, data = build(cfg, "suite"), build(cfg, "data")
    searcher = None if cfg.run else build(cfg, "retriever")
    with start_run(cfg, "evaluate") as folder:
        from skillfit.analysis.console import print_run
        from skillfit.analysis.report import write_report
        from skillfit.evaluation.systems import answer

        benchmark = data.load(Path(cfg.cache), unknown=cfg.qrels.unknown)
        system, run, facts = answer(benchmark, searcher, cfg.run, name=cfg.system, profile=cfg.profile)
        suite.evaluate(benchmark, {system: run}, {system: facts}, folder)
        write_report(folder.path)
        print_run(folder.path)


if __name__ == "__main__":
    main()
