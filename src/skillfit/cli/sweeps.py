"""A sweep as a whole: refused before its first job if it cannot be right, and summed up after its last."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from skillfit.errors import UserError
from skillfit.provenance import TAKEN

# The metric is better when higher, a failed trial is a result, and a seed lets a sweep be run again.
OPTUNA = {"direction": "maximize", "max_failure_rate": 1.0, "sampler.seed": 0}
SUMMED_UP = {"train"}  # jobs that return a dev metric


class SweepFolder(Callback):
    """The Hydra callback of conf/hydra_run: tells `summary` which sweep this process leads."""

    current: ClassVar[tuple[Path, str] | None] = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Check the sweep's folder and sampler; the launchers' processes never come here."""
        folder = Path(config.hydra.sweep.dir).absolute()
        _set_up_optuna(config)
        if fault := _fault(config, folder):
            sys.stderr.write(f"error: {fault}\n")
            sys.exit(2)  # Hydra would turn an error of a callback into a warning
        SweepFolder.current = (folder, str(config.hydra.job.name))

    @staticmethod
    def _led() -> tuple[Path, str] | None:
        return SweepFolder.current

    @staticmethod
    @contextmanager
    def summary() -> Iterator[None]:
        """After a sweep, print its table and end stdout with its folder; a sweep without a finished job is an error.

        Says nothing of a single run. A sweeper that raises at the end, as Hydra's own does for a failed job, still
        gets its table.
        """
        SweepFolder.current = None
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        led = SweepFolder._led()
        if led is not None:
            _sum_up(*led)
        if failure is not None:
            raise failure


def _sum_up(folder: Path, job: str) -> None:
    if not folder.is_dir():
        return
    if job in SUMMED_UP:
        from skillfit.analysis.console import print_sweep
        from skillfit.analysis.sweep import read_sweep

        sweep = read_sweep(folder)
        print_sweep(sweep)
        if sweep.jobs and not sweep.finished:
            reasons = [one.reason for one in sweep.jobs if one.reason]
            fix = f"none of the {len(sweep.jobs)} jobs finished" + (f"; the first one: {reasons[0]}" if reasons else "")
            raise UserError("sweep", fix=fix)
    sys.stdout.write(f"{folder}\n")
    sys.stdout.flush()


def _set_up_optuna(config: DictConfig) -> None:
    """Give Optuna's sweeper what suits these jobs where the user says nothing: its own defaults minimise and stop.

    Its config cannot be replaced by one of conf/: Hydra holds files to the plugin's schema of that name.
    """
    sweeper = config.hydra.sweeper
    if not str(sweeper.get("_target_", "")).endswith(".OptunaSweeper"):
        return
    typed = {override.lstrip("+").split("=")[0] for override in config.hydra.overrides.hydra}
    with read_write(config.hydra), open_dict(config.hydra):
        for key, value in OPTUNA.items():
            if f"hydra.sweeper.{key}" not in typed and (key != "sampler.seed" or "seed" in sweeper.sampler):
                OmegaConf.update(sweeper, key, value)
    shown = ", ".join(f"{key}={OmegaConf.select(sweeper, key)}" for key in OPTUNA)
    sys.stderr.write(f"Optuna: {shown}, n_trials={sweeper.n_trials} (each is hydra.sweeper.KEY)\n")


def _fault(config: DictConfig, folder: Path) -> UserError | None:
    """Why this sweep cannot be begun, or resumed."""
    overrides = list(config.hydra.overrides.task)
    is_resumed = "resume=auto" in overrides
    if not is_resumed and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        fix = f"{folder} {TAKEN}; resume=auto runs what is missing of a sweep there"
        return UserError("hydra.sweep.dir", fix=fix.replace("hydra.run.dir", "hydra.sweep.dir"))
    sweeper = config.hydra.sweeper
    if not is_resumed or "sampler" not in sweeper:
        return None
    if OmegaConf.select(sweeper, "storage") is not None:
        fix = "the run folders are the record: with a storage Optuna would add n_trials more; leave it null"
        return UserError("config", "hydra.sweeper.storage", sweeper.storage, fix)
    if "seed" in sweeper.sampler and sweeper.sampler.seed is None:
        fix = "is null, so other trials would be proposed each time; give the number the sweep was begun with"
        return UserError("config", "hydra.sweeper.sampler.seed", fix=fix)
    return None
