"""Evaluate routing: `python evaluate.py suite=routing data=… retriever=… view=…` (see conf/evaluate.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from skillfit.cli.app import build, job, refuse_taken_folder, set_up_logging, start_run
from skillfit.evaluation.systems import given, search
from skillfit.io import read_run


@job("evaluate")
def main(cfg: DictConfig) -> None:
    """Search (or read a run file), score, and write the run folder with its report."""
    set_up_logging(cfg.verbose)
    suite, data = build(cfg, "suite"), build(cfg, "data")
    searcher: Any = None if cfg.run else build(cfg, "retriever")
    theirs = read_run(cfg.run, allow_repeats=cfg.profile == "sr") if cfg.run else None
    refuse_taken_folder()
    benchmark = data.load(Path(cfg.cache).expanduser(), unknown=cfg.qrels.unknown)
    suite.check(benchmark)
    answer = given(cfg.run, theirs, benchmark) if theirs else None
    with start_run(cfg, "evaluate") as folder:
        from skillfit.analysis.console import print_run
        from skillfit.analysis.report import write_report

        system, run, facts = answer or search(searcher, benchmark)
        system = cfg.system or system
        suite.evaluate(benchmark, {system: run}, {system: facts}, folder)
        write_report(folder.path)
        print_run(folder.path)


if __name__ == "__main__":
    main()
