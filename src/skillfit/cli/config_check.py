"""The composed config against the job's own file: no unknown key, no value of another kind than the default's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args

import yaml
from omegaconf import DictConfig, OmegaConf

from skillfit.data.benchmark import Unknown
from skillfit.errors import UserError, suggest

PACKAGE = Path(__file__).resolve().parent.parent
NO_KEYS = {"_self_", "hydra", "hydra_run", "experiment", "search"}  # entries of a defaults list that add no key
# Root values that no constructor checks.
CHOICES = {
    "qrels.unknown": get_args(Unknown),
    "vectors": ("searched", "always", "never"),
    "short": ("fewer", "drop", "pad"),
}
# Groups of plain values, to which other groups refer: the keys of each of their options.
PLAIN: dict[str, dict[str, Any]] = {
    "encoder": {"model": "", "pooling": None, "max_length": "???", "dtype": ""},
    "prompts": {"query": None, "document": None},
}
OPEN = {"runs"}  # root settings that take further names
NULLABLE = {"near_copies", "split", "encoder.max_length"}  # root values with a default that null switches off
REQUIRED = "???"
LARGEST_SEED = 2**32 - 1  # what Lightning and numpy take


def config_dir() -> Path:
    """The folder of the configs: packed beside the code when installed, `conf/` of the checkout otherwise."""
    packed = PACKAGE / "conf"
    return packed if packed.is_dir() else PACKAGE.parent.parent / "conf"


def check_keys(cfg: DictConfig, config_name: str) -> None:
    """Refuse keys that no job reads (Hydra's `+key=` adds any) and plain values of another type than the default's.

    Raises UserError naming the key, the value and the closest known key.
    """
    root = yaml.safe_load((config_dir() / f"{config_name}.yaml").read_text(encoding="utf-8"))
    groups = {_group(entry) for entry in root.pop("defaults", [])} - NO_KEYS
    root.pop("hydra", None)
    _check_finite(OmegaConf.to_container(cfg, resolve=False), "")
    _check_node(cfg, root, groups, "")


def _check_finite(value: Any, name: str) -> None:
    """Refuse inf and nan wherever they stand: comparisons with bounds let the one or the other through."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_finite(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for item in value:
            _check_finite(item, name)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError("config", name, value, "use a finite number")


def _check_node(cfg: DictConfig, known: dict[str, Any], groups: set[str], prefix: str) -> None:
    raw = OmegaConf.to_container(cfg, resolve=False)
    for key, given in raw.items():  # type: ignore[union-attr]
        name = f"{prefix}{key!s}"
        if key in groups:
            if key in PLAIN and isinstance(given, dict):
                _check_node(cfg[key], PLAIN[key], set(), f"{key}.")
            continue
        if key not in known and prefix.rstrip(".") in OPEN:
            _check_value(name, cfg[key], None)
            continue
        if key not in known:
            raise UserError("config", name, given, f"no such key; {suggest(str(key), {*known, *groups})}")
        default = known[key]
        if not isinstance(default, dict):
            _check_value(name, cfg[key], default)
        elif isinstance(given, dict):
            _check_node(cfg[key], default, set(), f"{name}.")
        else:
            raise UserError(
                "config", name, given, f"is a group of settings; set one of {name}.{{{', '.join(default)}}}"
            )


def _check_value(name: str, value: Any, default: Any) -> None:
    if value is None and (default is None or name in NULLABLE):
        return
    if default == REQUIRED and value is not None:
        return  # whoever asks for it knows its kind
    if not _same_kind(value, default):
        raise UserError("config", name, _plain(value), f"expected {_kind(value, default, name)}")
    allowed = CHOICES.get(name)
    if allowed and value not in allowed:
        raise UserError("config", name, value, suggest(value, allowed))
    if name == "system" and not (value.strip() and value.isprintable()):
        raise UserError("config", name, value, "name the row in one line of printable text")
    if name == "seed" and not 0 <= value <= LARGEST_SEED:
        raise UserError("config", name, value, f"use a whole number from 0 to {LARGEST_SEED}")


def _same_kind(value: Any, default: Any) -> bool:
    if default is None or isinstance(default, str):
        return isinstance(value, str)
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, list):
        return isinstance(value, str) or OmegaConf.is_list(value)  # a single entry may stand for the list
    return isinstance(value, type(default))


def _kind(value: Any, default: Any, name: str) -> str:
    if default is None or isinstance(default, str):
        # Hydra reads a bare 2024, true or null as a number, a boolean or nothing, so text of that form needs quotes.
        plain = isinstance(value, int | float)
        return (
            f"text; if {str(value).lower()} is meant as text, quote it twice: \"{name}='{value}'\"" if plain else "text"
        )
    kinds = {bool: "true or false", int: "a whole number", float: "a number", list: "a list"}
    found = next((text for kind, text in kinds.items() if isinstance(default, kind)), "another kind of value")
    return f"{found} (the default is {default})"


def _plain(value: Any) -> Any:
    return OmegaConf.to_container(value, resolve=False) if OmegaConf.is_config(value) else value


def _group(entry: Any) -> str:
    """The key under which an entry of a defaults list stands: the group's name, or the one after its @."""
    name = next(iter(entry)) if isinstance(entry, dict) else str(entry)
    group, _, package = name.removeprefix("override ").partition("@")
    return package if package and package != "_global_" else group.strip("/").split("/")[0]
