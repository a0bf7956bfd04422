"""Config faults in the user's words: which key, which value, what to type instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hydra.errors import HydraException, InstantiationException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException
from pydantic import ValidationError

from skillfit.errors import UserError, suggest

PACKAGE = Path(__file__).resolve().parent.parent


def config_dir() -> Path:
    """The folder of the configs: packed beside the code when installed, `conf/` of the checkout otherwise."""
    packed = PACKAGE / "conf"
    return packed if packed.is_dir() else PACKAGE.parent.parent / "conf"


def check_keys(cfg: DictConfig, config_name: str) -> None:
    """Refuse keys that no job reads (Hydra's `+key=` adds any) and plain values of another type than the default's.

    Raises UserError naming the key, the value and the closest known key.
    """
    root = yaml.safe_load((config_dir() / f"{config_name}.yaml").read_text(encoding="utf-8"))
    groups = {_group(entry) for entry in root.pop("defaults", [])} - {"_self_", "hydra", "experiment", "sweep"}
    _check_node(cfg, root, groups, "")


def _check_node(cfg: DictConfig, known: dict[str, Any], groups: set[str], prefix: str) -> None:
    for key in cfg:
        name = f"{prefix}{key!s}"
        if key in groups:
            continue
        raw = OmegaConf.to_container(cfg, resolve=False)[key]  # type: ignore[index]
        if key not in known:
            raise UserError("config", name, raw, f"no such key; {suggest(str(key), {*known, *groups})}")
        default = known[key]
        if isinstance(default, dict):
            if not isinstance(raw, dict):
                raise UserError(
                    "config", name, raw, f"is a group of settings; set one of {name}.{{{', '.join(default)}}}"
                )
            _check_node(cfg[key], default, set(), f"{name}.")
        elif default is not None and raw is not None and not _same_kind(cfg[key], default):
            raise UserError("config", name, raw, f"expected {_kind(default)} (the default is {default})")


def _same_kind(value: Any, default: Any) -> bool:
    if isinstance(default, str) and default.startswith("${"):
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, int):
        return isinstance(value, int)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, str):
        return isinstance(value, str | int | float)
    return True


def _kind(default: Any) -> str:
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return next((text for kind, text in kinds.items() if isinstance(default, kind)), "another kind of value")


def _group(entry: Any) -> str:
    name = next(iter(entry)) if isinstance(entry, dict) else str(entry)
    return name.removeprefix("override ").split("@")[0].strip("/").split("/")[0]


def explain(error: BaseException, prefix: str = "") -> str | None:
    """One message for a fault of the user's, or None if `error` is a fault of ours (its stack trace is needed then)."""
    chain = list(_causes(error))
    for link in chain:
        if isinstance(link, UserError):
            return str(link)
    for link in chain:
        if isinstance(link, ValidationError):
            return _validation(link, _full_key(error, prefix))
        if isinstance(link, MissingMandatoryValue):
            key = _full_key(link, prefix)
            return f"config: {key} is missing: add {key}=VALUE to the command"
    if isinstance(error, OverrideParseException):
        return _parse_fault(error)
    if isinstance(error, MissingConfigException):
        return _first_lines(error)
    for link in chain:
        if isinstance(link, ConfigKeyError):
            return _unknown_key(error, link)
        if isinstance(link, OmegaConfBaseException):
            return f"config: {_full_key(link, prefix)}: {_first_line(link)}"
    if isinstance(error, InstantiationException) and not any(isinstance(link, ImportError) for link in chain):
        inner = chain[-1]
        return f"config: {_full_key(error, prefix)}: {_first_line(inner)}" if isinstance(inner, TypeError) else None
    return f"config: {_first_lines(error)}" if isinstance(error, HydraException) else None


def _validation(error: ValidationError, key: str) -> str:
    parts = []
    for fault in error.errors():
        path = [str(p) for p in fault["loc"]]
        name = ".".join([key, *path] if key else path)
        if fault["type"] == "unexpected_keyword_argument":
            parts.append(f"{name} = {fault['input']!r}: no such key for {error.title}")
        elif fault["type"].startswith("missing"):
            parts.append(f"{name}: is missing; add {name}=VALUE to the command")
        else:
            parts.append(f"{name} = {fault['input']!r}: {fault['msg']}")
    return "config: " + "; ".join(parts)


def _unknown_key(error: BaseException, link: ConfigKeyError) -> str:
    match = re.search(r"Could not override '([^']+)'", str(error))
    key = match.group(1) if match else str(link.full_key or link.key)
    node = link.parent_node
    known = [str(k) for k in node] if isinstance(node, DictConfig) else []
    last = key.rsplit(".", 1)[-1]
    return f"config: {key}: no such key; {suggest(last, known)}"


def _parse_fault(error: OverrideParseException) -> str:
    key, _, value = error.override.partition("=")
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"command line: {error.override!r} cannot be read; quote the value twice: \"{key}='{quoted}'\""


def _full_key(error: BaseException, prefix: str) -> str:
    match = re.search(r"full_key: (\S+)", str(error))
    key = match.group(1) if match else ""
    if not key or key == prefix or key.startswith(f"{prefix}."):
        return key or prefix
    return f"{prefix}.{key}" if prefix else key


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]


def _first_lines(error: BaseException) -> str:
    return " ".join(line.strip() for line in str(error).strip().split("\n")[:4] if line.strip())
