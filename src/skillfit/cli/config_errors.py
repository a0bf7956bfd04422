"""Config faults in the user's words: which key, which value, what to type instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import chain
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    InterpolationKeyError,
    InterpolationResolutionError,
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)
from pydantic import ValidationError

from skillfit.cli.config_check import config_dir
from skillfit.cli.object_errors import HYDRA_KEYS, as_typed, call_fault, own_key, validation_fault
from skillfit.errors import UserError, suggest

LINES = 4  # of a library's message, when nothing better is known
HIDDEN = HYDRA_KEYS | {"hydra"}


def explain(error: BaseException, prefix: str = "", cfg: DictConfig | None = None) -> str | None:
    """One line for a fault of the user's, or None if `error` is a fault of ours (its stack trace is needed then).

    prefix: the key whose object tree was being built. cfg: the config it is in, for naming keys as they were typed.
    """
    causes = list(_causes(error))
    for link in causes:
        if isinstance(link, UserError):
            return str(own_key(link, _full_key(error, prefix), cfg))
    for link in causes:
        if isinstance(link, ValidationError):
            return f"config: {validation_fault(link, _full_key(error, prefix), cfg)}"
        if isinstance(link, OmegaConfBaseException) and not isinstance(link, ConfigAttributeError | ConfigKeyError):
            return f"config: {_unresolved(link, prefix, cfg)}"
    if isinstance(error, OverrideParseException):
        return f"command line: {_unreadable(error)}"
    if isinstance(error, MissingConfigException):
        return f"config: {_unknown_option(error)}"
    if isinstance(error, InstantiationException):
        told = call_fault(error, causes[-1], _full_key(error, prefix), cfg)
        return told and f"config: {told}"
    if isinstance(error, ConfigCompositionException):
        return _uncomposable(error, causes)
    if isinstance(error, OmegaConfBaseException | HydraException):
        return f"config: {first_lines(error)}"
    return _plain_fault(error)


def _plain_fault(error: BaseException) -> str | None:
    """Faults that Python or Hydra raise under the names of ours: files, and a group set to null."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the path, its permissions and the space left"
    if isinstance(error, ValueError) and "Config group override" in str(error):
        return "command line: a group cannot be null; name one of its options, such as logger=none"
    if type(error).__name__ == "MisconfigurationException":  # Lightning's, named so that it need not be imported
        return f"config: trainer: {first_lines(error)}"
    if isinstance(error, ValueError) and "No trials are completed" in str(error):
        return "sweep: none of the trials finished"
    return None


def _unknown_option(error: MissingConfigException) -> str:
    """A group's option that is not there; the group is the longest folder of conf/ that the path names."""
    path = (error.missing_cfg_file or "").split("/")
    if len(path) < 2:
        return first_lines(error)
    split = max((i for i in range(1, len(path)) if (config_dir() / "/".join(path[:i])).is_dir()), default=len(path) - 1)
    group, option = "/".join(path[:split]), "/".join(path[split:])
    known = error.options or [file.stem for file in (config_dir() / group).glob("*.yaml")]
    return f"{group} = {option!r}: no such option; {suggest(option, known)}"


def _uncomposable(error: ConfigCompositionException, causes: list[BaseException]) -> str:
    text = str(error)
    if found := re.match(r"Could not override '([^']+)'", text):
        return f"config: {_unknown_key(found.group(1), text, causes)}"
    if found := re.match(r"Could not append to config. An item is already at '([^']+)'", text):
        key, value = found.group(1), _between(text, r"remove \+ prefix: '[^=]+=(.*)'$")
        return f"config: +{key} = {value}: the key is there already; write {key}={value} without the +"
    if found := re.match(r"Multiple values for (\S+)\. To override a value use 'override [^:]+: (.*)'", text):
        group, option = found.groups()
        return f"config: +{group} = {option}: the group is chosen already; write {group}={option} without the +"
    if found := re.match(r"Could not delete from config. '([^']+)' does not exist", text):
        return f"config: ~{found.group(1)}: no such key to leave out"
    if found := re.match(r"Ambiguous value for argument '([^=]+)=(.*)'$", text, re.MULTILINE):
        key, value = found.groups()
        return (
            f"command line: {key} = {value!r} holds a comma; as one text: {quoted(key, value)}, "
            f"as a list: '{key}=[{value}]', as a sweep: add -m"
        )
    if found := re.match(r"Error merging override ([^=]+)=(.*)$", text, re.MULTILINE):
        key, value = found.group(1).lstrip("+"), found.group(2)
        return f"command line: {key} = {value} cannot be read as a value ({_first_line(causes[-1])})"
    return f"config: {first_lines(error)}"


def _unknown_key(key: str, text: str, causes: list[BaseException]) -> str:
    value = _between(text, r"use \+[^=]+=(.*)$")
    shown = f"{key} = {value}" if value else key
    if found := re.search(r"Did you mean to override (\S+)\?", text):
        return f"{shown}: no such key; did you mean {found.group(1)}?"
    missing = next((link for link in causes if isinstance(link, ConfigAttributeError | ConfigKeyError)), None)
    if missing is None:
        return f"{shown}: no such key"
    full = str(missing.full_key or key)
    if typed := _typed_elsewhere(full):
        return f"{shown}: is taken from elsewhere; set {typed}={value or 'VALUE'}"
    group, _, last = full.rpartition(".")
    holders = _options_with(group, last)
    if not group and (places := _groups_with(last, missing.parent_node)):
        return f"{shown}: no such key; did you mean {' or '.join(places)}?"
    inner = f": {full}" if full != key else ""
    elsewhere = f"{group}={' or '.join(holders)} has it; " if holders else ""
    return f"{shown}: no such key{inner}; {elsewhere}{suggest(last, _keys(missing.parent_node))}"


def _typed_elsewhere(key: str) -> str:
    """Where a key below a reference is set: `retriever.view.caps` is view.caps, as retriever.view is ${view}."""
    group = key.split(".")[0]
    for file in sorted((config_dir() / group).glob("*.yaml")):
        typed = as_typed(OmegaConf.create({group: OmegaConf.load(file)}), key)
        if typed != key:
            return typed
    return ""


def _options_with(group: str, key: str) -> list[str]:
    """The options of a group whose own file holds the key: `data.corpus` belongs to data=files, not to data=mini."""
    folder = config_dir() / group.replace(".", "/")
    if not group or not folder.is_dir():
        return []
    return [file.stem for file in sorted(folder.glob("*.yaml")) if key in _keys(OmegaConf.load(file))]


def _groups_with(key: str, root: Any) -> list[str]:
    """Where a setting typed without its group may belong: `max_length` is retriever.max_length in an evaluation."""
    groups = [group for group in _keys(root) if (config_dir() / group).is_dir()]
    return [f"{group}.{key}" for group in sorted(groups) if _options_with(group, key) or key in _keys(root.get(group))]


def _keys(node: Any) -> list[str]:
    """The keys of a config node that a user may set; `in` and iteration differ on those whose value is missing."""
    return [str(key) for key in node.keys() - HIDDEN] if OmegaConf.is_dict(node) else []


def _unresolved(link: OmegaConfBaseException, prefix: str, cfg: DictConfig | None) -> str:
    """A value that is missing, or that refers to one which is missing or not there."""
    key = str(link.full_key or "") or _full_key(link, prefix)
    if isinstance(link, MissingMandatoryValue):
        return _missing(_through(cfg, _between(str(link), r"Missing mandatory value: (\S+)") or key))
    root: Any = cfg if cfg is not None or link.parent_node is None else link.parent_node._get_root()
    target = _between(str(link), r"(?:Interpolation key '|Missing mandatory value: )([^'\s]+)")
    raw = OmegaConf.to_container(root, resolve=False) if root is not None else {}
    # What is built may only refer to the key at fault: retriever.view is ${view}, and view.name refers to nothing.
    key, value = next(chain(_references(raw, key, target), _references(raw, "", target)), (key, None))
    shown = f"{key} = {value!r}" if value is not None else key
    if isinstance(link, InterpolationToMissingValueError):
        return f"{_missing(target)} ({key} refers to it)" if target else f"{shown}: refers to a missing value"
    if isinstance(link, InterpolationKeyError):
        parent, _, _ = target.rpartition(".")
        owner = OmegaConf.select(root, parent) if parent and root is not None else root
        known = [f"{parent}.{name}" if parent else name for name in _keys(owner)]
        return f"{shown}: refers to {target}, which is not there; {suggest(target, known)}; or give {key}=VALUE"
    reason = re.sub(r"^\w+ raised while resolving interpolation: ", "", _first_line(link)).strip('"')
    advice = f"; or give {key}=VALUE" if isinstance(link, InterpolationResolutionError) else ""
    return f"{shown}: {reason}{advice}"


def _references(node: Any, under: str, target: str, at: str = "") -> Iterator[tuple[str, str]]:
    """The keys at or below `under` whose text refers to `target` (to anything if it is empty), with that text."""
    if isinstance(node, dict):
        for name, child in node.items():
            yield from _references(child, under, target, f"{at}.{name}" if at else str(name))
    elif isinstance(node, str) and f"${{{target}" in node and f"{at}.".startswith(f"{under}." if under else ""):
        yield at, node


def _through(cfg: DictConfig | None, key: str) -> str:
    """The key where a value is set: component.pairs is ${pairs}, so pairs.file.path for component.pairs.file.path."""
    node: Any = OmegaConf.to_container(cfg, resolve=False) if cfg is not None else None
    parts = key.split(".")
    for number, part in enumerate(parts):
        node = node.get(part) if isinstance(node, dict) else None
        if isinstance(node, str) and (target := re.fullmatch(r"\$\{([\w.]+)\}", node)):
            return _through(cfg, ".".join([target.group(1), *parts[number + 1 :]]))
    return key


def _missing(key: str) -> str:
    group = key.split(".")[0]
    choices = HydraConfig.get().runtime.choices if HydraConfig.initialized() else {}
    by = f" ({group}={choices[group]} needs it)" if group in choices and "." in key else ""
    return f"{key} is missing{by}: add {key}=VALUE to the command"


def _unreadable(error: OverrideParseException) -> str:
    key, equals, value = error.override.partition("=")
    if not equals:
        return f"{error.override!r} is no setting; settings have the form key=value"
    if not re.fullmatch(r"[+~]{0,2}[A-Za-z_][\w./@:-]*", key) or key.endswith((".", "/", "@")):
        return f"{error.override!r} has no valid key before its ="
    return f"{key} = {value!r} cannot be read; quote the value twice: {quoted(key, value)}"


def quoted(key: str, value: str) -> str:
    """The setting as it must be typed in a shell for Hydra to take the value literally."""
    word = f"{key}={QuotedString(text=value, quote=Quote.single).with_quotes()}"
    return shlex.quote(word) if re.search(r'[$`"\\!]', word) else f'"{word}"'


def _full_key(error: BaseException, prefix: str) -> str:
    key = _between(str(error), r"full_key: (\S+)")
    if not key or key == prefix or key.startswith(f"{prefix}."):
        return key or prefix
    return f"{prefix}.{key}" if prefix else key


def _between(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]


def first_lines(error: BaseException) -> str:
    """The start of a library's message as one line."""
    return " ".join(line.strip() for line in str(error).strip().split("\n")[:LINES] if line.strip())
