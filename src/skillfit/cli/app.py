"""What every Hydra entry point shares: composing, checking, the run folder, and errors told in one line."""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from skillfit.cli.config_check import check_keys, config_dir
from skillfit.cli.config_errors import explain
from skillfit.cli.resume import finished_metric, is_sweep, output_dir, taken_over
from skillfit.cli.resume import plain as plain
from skillfit.cli.signals import TERMINATED, Told, follow_the_first, is_secondary, leave, reason, stopped_by, terminable
from skillfit.cli.sweeps import SweepFolder
from skillfit.errors import UserError
from skillfit.provenance import RunFolder, record_failure, refuse_run_folder

log = logging.getLogger("skillfit")
FULL_ERROR = "HYDRA_FULL_ERROR"
RANKS = ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by Lightning's launcher


def job(config_name: str) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    """Make a function of a composed config into an entry point; bad input ends it with one line and exit code 2."""

    def decorate(main: Callable[[DictConfig], Any]) -> Callable[[], None]:
        def run() -> None:
            with one_line_errors() as tell, terminable():

                @functools.wraps(main)
                def checked(cfg: DictConfig) -> Any:
                    # A sweep's launcher keeps a failed job's error; a single job ends here, before Hydra tells it too.
                    with nullcontext() if is_sweep() else tell():
                        return _run_job(main, cfg, config_name)

                _refuse_keyless(sys.argv[1:])
                with SweepFolder.summary():
                    hydra.main(version_base="1.3", config_path=str(config_dir()), config_name=config_name)(checked)()

        def entry() -> None:
            try:
                run()
            except SystemExit as error:
                leave(error.code if isinstance(error.code, int) else int(bool(error.code)))
                raise
            leave(0)

        return entry

    return decorate


def _run_job(main: Callable[[DictConfig], Any], cfg: DictConfig, name: str) -> Any:
    """One job, alone or of a sweep, perhaps in a launcher's process: its config checked, its failure recorded."""
    if is_secondary():
        follow_the_first()
    ranks = {key: os.environ.get(key) for key in RANKS}
    with terminable():
        try:
            cfg = taken_over(cfg, name)
            check_keys(cfg, name)
            if "resume" in cfg:
                set_up_logging(cfg.verbose)
            metric = finished_metric(cfg)
            return main(cfg) if metric is None else metric
        except Exception as error:
            if is_sweep() and not is_secondary():
                config: Any = OmegaConf.to_container(cfg, resolve=False)
                record_failure(output_dir(), job=name, config=config, reason=_told_reason(error), **_asked())
            raise
        finally:
            _drop_empty_folder()
            # Lightning leaves the ranks of a multi-process run behind, and a sweep's next job would take them for its.
            _restore(ranks)


@contextmanager
def one_line_errors() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Print a UserError or a config error as one line on stderr and exit with code 2; the rest passes through.

    Gives the same treatment for a part of the block, as a context manager. With HYDRA_FULL_ERROR=1 set by the user,
    errors keep their stack trace.
    """
    tell = functools.partial(_told, trace=bool(os.environ.get(FULL_ERROR)))
    before = os.environ.get(FULL_ERROR)
    os.environ[FULL_ERROR] = "1"  # makes Hydra raise instead of printing its own report
    _quiet_libraries()
    try:
        with tell():
            yield tell
    finally:
        if before is None:
            os.environ.pop(FULL_ERROR, None)


@contextmanager
def _told(*, trace: bool) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Told:
        raise
    except (KeyboardInterrupt, SystemExit) as error:
        code = stopped_by(error)
        if code is None:
            raise
        sys.stderr.write("terminated\n" if code == TERMINATED else "interrupted\n")
        raise Told(code) from None
    except Exception as error:
        told = explain(error)
        if trace or told is None:
            raise
        sys.stderr.write(f"error: {' '.join(told.split())}\n")
        raise Told(2) from None


def _drop_empty_folder() -> None:
    """Remove the folder that Hydra made for a run which never began; one that the user named stays."""
    settings = HydraConfig.get()
    folder = output_dir()
    named = any(override.lstrip("+").startswith("hydra.run.dir=") for override in settings.overrides.hydra)
    if not named and folder != Path.cwd():
        with suppress(OSError):  # it holds a run
            folder.rmdir()


def _refuse_keyless(arguments: list[str]) -> None:
    for argument in arguments:
        if argument.lstrip("+~").startswith("="):
            raise UserError(
                "command line", value=argument, fix="has no key before its =; settings have the form key=value"
            )


@contextmanager
def start_run(cfg: DictConfig, job_name: str) -> Iterator[RunFolder]:
    """Claim Hydra's run folder, log into it, and mark it finished or failed; the folder's path ends stdout.

    What can be wrong with the input is found before: a run that never began leaves no folder.
    """
    config, seed = plain(cfg), int(cfg.seed)
    if is_secondary():
        yield RunFolder.join(output_dir(), job=job_name, config=config, seed=seed)
        return
    resume = config.get("resume") is not None
    run = RunFolder.claim(output_dir(), job=job_name, config=config, seed=seed, resume=resume, **_asked())
    handler = _log_to(run.path / "job.log")
    try:
        yield run
        run.finish()
    except BaseException as error:
        run.mark("failed", _told_reason(error))
        raise
    finally:
        run.release()
        logging.getLogger().removeHandler(handler)
        handler.close()
    sys.stdout.write(f"{run.path}\n")
    sys.stdout.flush()


def refuse_taken_folder() -> None:
    """Raise UserError early, before data is read, if Hydra's run folder holds anything."""
    if not is_secondary():
        refuse_run_folder(output_dir())


def _asked() -> dict[str, Any]:
    """How this job's config was asked for: the settings typed or swept, and the option of each group."""
    choices = {key: value for key, value in HydraConfig.get().runtime.choices.items() if not key.startswith("hydra")}
    return {"overrides": list(HydraConfig.get().overrides.task), "choices": choices}


def _told_reason(error: BaseException) -> str:
    """A fault as the user is told it, for `run.json`."""
    told = explain(error) if isinstance(error, Exception) else None
    return " ".join(told.split()) if told else reason(error)


def _restore(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def build(cfg: DictConfig, key: str) -> Any:
    """Instantiate the object tree at `key`; a missing one or a bad value raises UserError naming the key as typed."""
    try:
        node = OmegaConf.select(cfg, key, throw_on_missing=True)
        if node is None:
            options = ", ".join(sorted(file.stem for file in (config_dir() / key).glob("*.yaml")))
            raise UserError("config", key, fix=f"none is chosen; add {key}=OPTION, one of: {options}")
        return hydra.utils.instantiate(node)
    except Exception as error:
        told = explain(error, prefix=key, cfg=cfg)
        if told is None:
            raise
        place, _, fix = told.partition(": ")
        raise UserError(place, fix=fix) from error


def set_up_logging(verbose: bool) -> None:
    """Send skillfit's messages to stderr: warnings, or everything when verbose; other libraries' warnings only."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    handler.setLevel(logging.INFO if verbose and not is_secondary() else logging.WARNING)
    log.setLevel(logging.INFO)


def _log_to(path: Path) -> logging.Handler:
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    return handler


def _quiet_libraries() -> None:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
