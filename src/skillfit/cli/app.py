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
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from skillfit.cli.config_check import check_keys, config_dir
from skillfit.cli.config_errors import explain
from skillfit.errors import UserError
from skillfit.provenance import RunFolder, refuse_run_folder

log = logging.getLogger("skillfit")
FULL_ERROR = "HYDRA_FULL_ERROR"


def job(config_name: str) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    """Make a function of a composed config into an entry point; bad input ends it with one line and exit code 2."""

    def decorate(main: Callable[[DictConfig], Any]) -> Callable[[], None]:
        def entry() -> None:
            with one_line_errors() as tell:

                @functools.wraps(main)
                def checked(cfg: DictConfig) -> Any:
                    # A sweep's launcher keeps a failed job's error; a single job ends here, before Hydra tells it too.
                    with nullcontext() if HydraConfig.get().mode == RunMode.MULTIRUN else tell():
                        try:
                            check_keys(cfg, config_name)
                            return main(cfg)
                        finally:
                            _drop_empty_folder()

                _refuse_keyless(sys.argv[1:])
                hydra.main(version_base="1.3", config_path=str(config_dir()), config_name=config_name)(checked)()

        return entry

    return decorate


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
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except Exception as error:
        told = explain(error)
        if trace or told is None:
            raise
        sys.stderr.write(f"error: {' '.join(told.split())}\n")
        sys.exit(2)


def _drop_empty_folder() -> None:
    """Remove the folder that Hydra made for a run which never began; one that the user named stays."""
    settings = HydraConfig.get()
    folder = Path(settings.runtime.output_dir)
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
    config = plain(cfg)
    run = RunFolder.claim(HydraConfig.get().runtime.output_dir, job=job_name, config=config, seed=int(cfg.seed))
    handler = _log_to(run.path / "job.log")
    try:
        yield run
        run.finish()
    except BaseException as error:
        run.mark("failed", f"{type(error).__name__}: {error}")
        raise
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    sys.stdout.write(f"{run.path}\n")
    sys.stdout.flush()


def refuse_taken_folder() -> None:
    """Raise UserError early, before data is read, if Hydra's run folder holds anything."""
    refuse_run_folder(Path(HydraConfig.get().runtime.output_dir))


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Return the resolved config as plain containers. Raises UserError for a missing or unresolvable value."""
    return dict(OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True))  # type: ignore[arg-type]


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
    handler.setLevel(logging.INFO if verbose else logging.WARNING)
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
