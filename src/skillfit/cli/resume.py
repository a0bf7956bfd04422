"""What becomes of a run folder that holds a run: refused, continued, or its finished result returned."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from skillfit.cli.signals import is_secondary
from skillfit.errors import UserError
from skillfit.io import read_json
from skillfit.io.lock import is_locked
from skillfit.provenance import CONFIG, MARKER, NO_MATTER, busy, comparable, read_state, refuse_run_folder

log = logging.getLogger("skillfit")
NAMED = 3  # differing settings that an error names
PATIENCE = 60.0  # seconds between two lines about a folder that another process writes


def output_dir() -> Path:
    """The folder of this job's run."""
    return Path(HydraConfig.get().runtime.output_dir)


def is_sweep() -> bool:
    """Whether this job is one of a sweep's."""
    return bool(HydraConfig.get().mode == RunMode.MULTIRUN)


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Return the resolved config as plain containers. Raises UserError for a missing or unresolvable value."""
    return dict(OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True))  # type: ignore[arg-type]


def taken_over(cfg: DictConfig, job: str) -> DictConfig:
    """The config of the run that resume=DIR names, with DIR as this job's folder; any other config as it is.

    Raises UserError if DIR holds no run of this job, or if the command sets anything to another value.
    """
    asked = cfg.get("resume")
    if asked is None or asked == "auto":
        return cfg
    if is_sweep():
        raise UserError("config", "resume", asked, "a sweep is resumed as a whole: hydra.sweep.dir=DIR resume=auto")
    folder = Path(asked).absolute()
    state = _state_of(folder, asked)
    if state.get("job") != job:
        raise UserError("config", "resume", asked, f"holds a run of {state.get('job')}, not of {job}")
    stored = read_json(folder / CONFIG)
    own, moved_from = plain(cfg), str(state.get("folder", folder))
    stored = _moved(stored, moved_from, str(folder))
    different = list(_overridden(own, stored, state))
    if different:
        raise UserError("config", "resume", asked, f"the run was begun with other settings: {_shown(different)}")
    typed = {name.split("=")[0].lstrip("+") for name in HydraConfig.get().overrides.task}
    stored |= {name: own[name] for name in NO_MATTER if name in own and (name in typed or name not in stored)}
    _use_folder(folder)
    config: DictConfig = OmegaConf.create(_literal(stored))
    return config


def finished_metric(cfg: DictConfig) -> float | None:
    """The stored metric of a run that finished in this folder, None if there is something to do.

    resume null: a folder that holds anything is refused. Otherwise it must hold nothing or a run of this config; a
    sweep's job waits for a process that still writes there. Raises UserError naming what differs.
    """
    if "resume" not in cfg or is_secondary():
        return None
    folder = output_dir()
    if cfg.resume is None:
        _refuse_taken(folder)
        return None
    state = _settled(folder)
    if state is None:
        refuse_run_folder(folder)
        return None
    config = plain(cfg)
    _refuse_other_config(config, folder, state)
    if state.get("status") != "finished":
        log.info("resuming the run in %s (%s)", folder, state.get("reason") or state.get("status"))
        return None
    if not isinstance(state.get("metric"), int | float):
        raise UserError(folder / MARKER, "metric", fix="the finished run has none; choose another folder")
    log.info("finished already with this config: metric %.4f", state["metric"])
    sys.stdout.write(f"{folder}\n")
    sys.stdout.flush()
    return float(state["metric"])


def _refuse_taken(folder: Path) -> None:
    try:
        refuse_run_folder(folder)
    except UserError as error:
        if not (folder / MARKER).exists() or is_locked(folder):
            raise
        raise UserError(error.place, fix=f"{error.fix}; resume=auto continues a run of the same config") from None


def _settled(folder: Path) -> dict[str, Any] | None:
    """The run's state once no other process writes the folder."""
    told = 0.0
    while is_locked(folder):
        if not is_sweep():
            raise UserError("hydra.run.dir", fix=f"{folder} {busy(folder)}")
        if time.monotonic() - told > PATIENCE or not told:
            log.warning("%s %s", folder, busy(folder))
            told = time.monotonic()
        time.sleep(1)
    return read_state(folder)


def _refuse_other_config(config: Mapping[str, Any], folder: Path, state: Mapping[str, Any]) -> None:
    if not (folder / CONFIG).exists():
        return
    before = comparable(_moved(read_json(folder / CONFIG), str(state.get("folder", folder)), str(folder)), folder)
    different = list(differences(before, comparable(config, folder)))
    if different:
        text = f"{folder} holds a run with other settings: {_shown(different)}; choose another folder"
        raise UserError("config", "resume", fix=text)


def _state_of(folder: Path, asked: str) -> dict[str, Any]:
    if not folder.is_dir():
        raise UserError("config", "resume", asked, "no such folder; give the folder of the run to resume, or auto")
    state = read_state(folder)
    if state is None or not (folder / CONFIG).exists():
        gone = MARKER if state is None else CONFIG
        raise UserError("config", "resume", asked, f"holds no {gone}, so there is no run to resume")
    return state


def differences(before: Any, now: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The settings in which two plain configs differ: dotted key, value before, value now."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from differences(before.get(key), now.get(key), f"{at}.{key}" if at else str(key))
    elif before != now:
        yield at, before, now


def _overridden(own: Mapping[str, Any], stored: Mapping[str, Any], state: Mapping[str, Any]) -> Iterator[Any]:
    """What the command sets to another value than the stored run has: a key, the stored value, the command's."""
    choices, before = HydraConfig.get().runtime.choices, state.get("choices", {})
    for override in HydraConfig.get().overrides.task:
        key = override.split("=")[0].lstrip("+~")
        if key in NO_MATTER:
            continue
        if key in choices:
            if choices[key] != before.get(key):
                yield key, before.get(key), choices[key]
            continue
        found, wanted = _at(stored, key), _at(own, key)
        yield from differences(found, wanted, key)


def _at(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def _shown(different: list[tuple[str, Any, Any]]) -> str:
    parts = [f"{key} = {before!r} there, {now!r} here" for key, before, now in different[:NAMED]]
    more = len(different) - NAMED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def _moved(value: Any, before: str, now: str) -> Any:
    """A stored config whose run folder has been moved since."""
    if isinstance(value, Mapping):
        return {key: _moved(item, before, now) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, before, now) for item in value]
    if not isinstance(value, str):
        return value
    return now + value[len(before) :] if value == before or value.startswith(f"{before}/") else value


def _literal(value: Any) -> Any:
    """Resolved texts as they are: what looks like a reference in them is none."""
    if isinstance(value, Mapping):
        return {key: _literal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_literal(item) for item in value]
    return value.replace("${", "\\${") if isinstance(value, str) else value


def _use_folder(folder: Path) -> None:
    """Make a folder this job's; the one that Hydra made for it goes if it is empty."""
    made = output_dir()
    hydra_config: Any = HydraConfig.get()
    with read_write(hydra_config), open_dict(hydra_config):
        hydra_config.runtime.output_dir = str(folder)
        hydra_config.run.dir = str(folder)
    if made != folder and made != Path.cwd() and made.is_dir() and not any(made.iterdir()):
        made.rmdir()
