"""Experiment trackers: built from conf/logger, never asking a question, closed with their job in limited time."""

from __future__ import annotations

import logging
import netrc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from omegaconf import DictConfig, OmegaConf, open_dict

from skillfit.cli.app import build
from skillfit.cli.resume import plain
from skillfit.cli.signals import abandoned, is_secondary
from skillfit.errors import UserError

log = logging.getLogger("skillfit")
CLOSING = 60.0  # seconds a tracker has for its last uploads
QUIET = {
    "WANDB_SILENT": "true",
    "WANDB_CONSOLE": "off",
    "WANDB_INIT_TIMEOUT": "30",
    "WANDB__SERVICE_WAIT": "60",
}  # stdout stays ours


def check_tracker(cfg: DictConfig) -> None:
    """Raise UserError early for a tracker that lacks its key or its package."""
    if not cfg.get("logger"):
        return
    target = str(cfg.logger.get("_target_", ""))
    if target.endswith(".WandbLogger"):
        _refuse_keyless_online(cfg.logger)
    if target.endswith(".TensorBoardLogger") and not any(map(find_spec, ("tensorboardX", "tensorboard"))):
        raise UserError(
            "config", "logger", "tensorboard", "its package is missing: pip install 'skillfit[tensorboard]'"
        )


@contextmanager
def tracker(cfg: DictConfig) -> Iterator[Any]:
    """Yield the logger of this job for Lightning's Trainer, or False; close it when the block ends, failed or not.

    One that hangs while closing is left behind with a warning: results are on disk by then, and the exit code is the
    job's.
    """
    if not cfg.get("logger"):
        yield False
        return
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    logger = _started(cfg)
    status = "failed"
    try:
        yield logger
        status = "success"
    finally:
        if not is_secondary():
            _in_time(lambda: _close(logger, status), type(logger).__name__)


def _started(cfg: DictConfig) -> Any:
    """The logger with the job's config in it; an online one whose server does not answer goes on offline."""
    node = cfg.copy()
    _keep_earlier_log(node.logger)
    logger = build(node, "logger")
    if is_secondary():
        return logger
    try:
        logger.log_hyperparams(plain(cfg))
    except Exception as error:
        name, reason = type(logger).__name__, " ".join(str(error).split())
        if node.logger.get("offline") is not False:
            raise UserError("config", "logger", name, f"cannot start: {reason}") from error
        log.warning("%s cannot start online (%s); it goes on offline", name, reason)
        with open_dict(node.logger):
            node.logger.offline, node.logger.mode = True, "offline"  # what it read of the environment is kept
        logger = build(node, "logger")
        logger.log_hyperparams(plain(cfg))
    return logger


def _keep_earlier_log(node: DictConfig) -> None:
    """A resumed run writes beside the earlier process's log: Lightning's CSV logger would delete it."""
    if not isinstance(node.get("version"), str) or node.get("save_dir") is None:
        return
    parent, version = Path(node.save_dir) / (node.get("name") or ""), node.version
    number = 2
    while (parent / node.version).is_dir() and any((parent / node.version).iterdir()):
        node.version, number = f"{version}-{number}", number + 1


def _close(logger: Any, status: str) -> None:
    logger.finalize(status)
    experiment = getattr(logger, "_experiment", None)  # the property of that name would start one
    for name in ("finish", "close"):
        if callable(end := getattr(experiment, name, None)):
            end(exit_code=int(status != "success")) if name == "finish" else end()
            return


def _in_time(act: Callable[[], None], name: str) -> None:
    """Close in a thread of its own: a tracker that waits for the network does not keep the job's process."""
    fault: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # a tracker's fault is not the job's
            fault.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(CLOSING)
    if thread.is_alive():
        log.warning(
            "%s was not closed within %.0f s; its upload may be incomplete, the run folder is not", name, CLOSING
        )
        abandoned.append(name)  # their own exit hooks would wait as long again
    elif fault:
        log.warning("%s could not be closed: %s: %s", name, type(fault[0]).__name__, " ".join(str(fault[0]).split()))


def _refuse_keyless_online(node: DictConfig) -> None:
    """Weights & Biases online asks for a key on a terminal, and fails deep inside without one."""
    if node.get("offline") or os.environ.get("WANDB_MODE") in NO_KEY_NEEDED:
        return
    if os.environ.get("WANDB_API_KEY") or _in_netrc():
        return
    fix = "no key is found; set WANDB_API_KEY, run `wandb login`, or leave logger.offline=true"
    raise UserError("config", "logger.offline", OmegaConf.select(node, "offline"), fix)


NO_KEY_NEEDED = {"offline", "disabled", "dryrun"}


def _in_netrc() -> bool:
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    for file in (os.environ.get("NETRC"), "~/.netrc", "~/_netrc"):
        path = Path(file).expanduser() if file else None
        if path is not None and path.is_file():
            try:
                return netrc.netrc(str(path)).authenticators(host) is not None
            except (netrc.NetrcParseError, OSError):
                return False
    return False
