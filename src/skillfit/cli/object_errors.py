"""Faults in building an object from its config: every key as the user typed it, with the closest known one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError

from skillfit.errors import UserError, suggest

HYDRA_KEYS = {"_target_", "_convert_", "_recursive_", "_partial_", "_args_"}
REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")


def validation_fault(error: ValidationError, key: str, cfg: DictConfig | None) -> str:
    """What a constructor refused: `key = value: reason`, one part a key."""
    parts: dict[str, str] = {}
    faults = error.errors()
    for fault in faults:
        path = _path([str(part) for part in fault["loc"]], key, cfg)
        owner, last = ".".join(path[:-1]), path[-1]
        path = path[:-1] if last.isdigit() and len(path) > 1 else path  # a list is typed as a whole
        name = as_typed(cfg, ".".join(path))
        if fault["type"] == "literal_error" and isinstance(fault["input"], dict) and len(faults) > 1:
            continue  # the union's other form says which key of the dictionary is wrong
        if fault["type"] == "unexpected_keyword_argument":
            told = f"{name} = {fault['input']!r}: no such key; {suggest(last, _known(cfg, owner) - {last})}"
        elif fault["type"].startswith("missing"):
            told = f"{name} is missing: add {name}=VALUE to the command"
        elif fault["type"] == "literal_error":
            told = f"{name} = {fault['input']!r}: {suggest(str(fault['input']), _allowed(fault['ctx']['expected']))}"
        elif fault["type"] == "list_type" and isinstance(fault["input"], str):
            told = f"{name} = {fault['input']!r}: expected a list: '{name}=[{fault['input']}]'"
        else:
            told = f"{name} = {fault['input']!r}: {_lower(fault['msg'])}"
        parts.setdefault(name, told)
    return "; ".join(parts.values())


def call_fault(error: InstantiationException, cause: BaseException, key: str, cfg: DictConfig | None) -> str | None:
    """A `_target_` that cannot be found, or does not take the keys given; None for a fault inside the object's code."""
    target = re.match(r"Error locating target '([^']+)'", str(error))
    if target or isinstance(cause, ImportError):
        found = target.group(1) if target else ""
        return f"{key}._target_ = {found!r}: cannot be found ({str(cause).strip()})"
    if not isinstance(cause, TypeError):
        return None
    if unexpected := re.search(r"unexpected keyword argument '(\w+)'", str(cause)):
        name = unexpected.group(1)
        return f"{as_typed(cfg, f'{key}.{name}')}: no such key; {suggest(name, _known(cfg, key) - {name})}"
    if missing := re.search(r"missing \d+ required \S+ arguments?: (.+)$", str(cause)):
        names = ", ".join(f"{key}.{name}" for name in re.findall(r"'(\w+)'", missing.group(1)))
        return f"{names} is missing: add {names.split(',')[0]}=VALUE to the command"
    return f"{key}: {str(cause).strip().splitlines()[0]}"


def own_key(error: UserError, key: str, cfg: DictConfig | None) -> UserError:
    """A constructor's complaint about one of its own values, under that value's full key."""
    node: Any = OmegaConf.select(cfg, key) if cfg is not None and key else None
    if error.place != "config" or not OmegaConf.is_dict(node) or error.field.split(".")[0] not in node:
        return error
    return UserError("config", as_typed(cfg, f"{key}.{error.field}"), error.value, error.fix)


def as_typed(cfg: DictConfig | None, key: str) -> str:
    """The key that holds the value: `retriever.view.caps` is `caps` where the view and its caps only refer to it."""
    if cfg is None:
        return key
    raw: Any = OmegaConf.to_container(cfg, resolve=False)
    parts, seen = key.split("."), 0
    node, i = raw, 0
    while i < len(parts) and isinstance(node, dict) and parts[i] in node:
        node, i = node[parts[i]], i + 1
        reference = REFERENCE.fullmatch(node) if isinstance(node, str) else None
        if reference and seen < 10:  # a bound, should a config refer to itself
            parts, node, i, seen = [*reference.group(1).split("."), *parts[i:]], raw, 0, seen + 1
    return ".".join(parts)


def _path(loc: Sequence[str], key: str, cfg: DictConfig | None) -> list[str]:
    """The key's parts; pydantic puts the names of a union's forms between them, which no config holds."""
    path = key.split(".") if key else []
    for i, part in enumerate(loc):
        node: Any = OmegaConf.select(cfg, ".".join(path)) if cfg is not None and path else cfg
        is_key = OmegaConf.is_dict(node) and part in node
        if is_key or cfg is None or (i == len(loc) - 1 and OmegaConf.is_dict(node)) or OmegaConf.is_list(node):
            path.append(part)
    return path or list(loc)


def _known(cfg: DictConfig | None, key: str) -> set[str]:
    """The names that the object at `key` takes: its constructor's parameters, or else the keys of the config."""
    node: Any = OmegaConf.select(cfg, key) if cfg is not None and key else cfg
    if not OmegaConf.is_dict(node):
        return set()
    if "_target_" not in node:
        return {str(name) for name in node}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(get_object(node._target_)).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind in kinds} - HYDRA_KEYS


def _allowed(expected: str) -> list[str]:
    """The values in pydantic's `'a', 'b' or 'c'`."""
    return re.findall(r"'([^']*)'", expected) or [expected]


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
