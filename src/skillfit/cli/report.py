"""Draw reports from run folders: `skillfit report runs='[DIR1,DIR2]' out=DIR`, or `sweep=DIR` (conf/report.yaml)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from skillfit.cli.app import job, plain, set_up_logging
from skillfit.errors import UserError


@job("report")
def main(cfg: DictConfig) -> None:
    """Compare the named run folders, or sum up a sweep; print the tables and end stdout with the report's path."""
    set_up_logging(cfg.verbose)
    config = plain(cfg)
    if config["sweep"] is not None:
        _sum_up(config)
        return
    runs, baseline, out = _runs(config["runs"]), config["baseline"], config["out"]
    from skillfit.analysis.compare import CompareOptions, compare
    from skillfit.analysis.console import print_comparison, print_run
    from skillfit.analysis.folder import read_folder
    from skillfit.analysis.report import save_comparison, write_report

    if len(runs) == 1 and len(read_folder(runs[0]).systems) == 1:
        if baseline is not None or out is not None:
            fix = "one run of one system has nothing to compare with: name more runs, or leave out baseline and out"
            raise UserError("config", "runs", runs[0], fix)
        path = write_report(runs[0])
        print_run(runs[0])
    else:
        if not isinstance(out, str) or not out:
            raise UserError("config", "out", fix="is missing: add out=DIR, a new folder for the comparison")
        options = CompareOptions(
            n_resamples=config["n_resamples"], permutations=config["permutations"], seed=config["seed"]
        )
        comparison = compare(runs, baseline, options)
        path = save_comparison(comparison, out)
        print_comparison(comparison)
    sys.stdout.write(f"{path}\n")
    sys.stdout.flush()


def _sum_up(config: dict[str, Any]) -> None:
    """One table of a sweep's jobs; with out=DIR also as files."""
    from skillfit.analysis.console import print_sweep
    from skillfit.analysis.sweep import read_sweep
    from skillfit.analysis.sweep_page import save_sweep

    if config["runs"]:
        raise UserError("config", "sweep", config["sweep"], "is a report of its own; leave out runs")
    sweep, out = read_sweep(config["sweep"]), config["out"]
    path = save_sweep(sweep, out) if out else sweep.folder
    print_sweep(sweep)
    sys.stdout.write(f"{path}\n")
    sys.stdout.flush()


def _runs(value: Any) -> list[Path]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise UserError("config", "runs", value, "name run folders: runs='[DIR1,DIR2]'")
    return [Path(str(name)) for name in names]


if __name__ == "__main__":
    main()
