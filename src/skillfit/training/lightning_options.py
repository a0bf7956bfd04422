"""What `trainer.extra` may pass to Lightning's Trainer, checked by name and kind without loading Lightning."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from skillfit.errors import UserError, suggest

# Options with a key of their own, and what that key is.
ELSEWHERE = {
    **{
        name: f"set trainer.{name}"
        for name in (
            "max_epochs", "max_steps", "accelerator", "devices", "strategy", "precision", "accumulate_grad_batches",
            "gradient_clip_val",
        )
    },
    "logger": "choose one with logger=NAME",
    "default_root_dir": "set hydra.run.dir",
}  # fmt: skip
FIXED = {
    name: reason
    for names, reason in (
        (("callbacks", "deterministic", "use_distributed_sampler", "log_every_n_steps"), "skillfit sets it"),
        (("num_sanity_val_steps", "enable_progress_bar", "enable_model_summary"), "skillfit reports its own way"),
        (
            ("enable_checkpointing", "barebones", "fast_dev_run"),
            "the best epoch is read back from a checkpoint and a run resumes from one; for a short run set "
            "trainer.max_steps",
        ),
        (
            ("model_registry", "inference_mode", "limit_test_batches", "limit_predict_batches"),
            "training has no such step",
        ),
    )
    for name in names
}  # fmt: skip
SHARES = {"limit_train_batches", "limit_val_batches", "val_check_interval"}  # int, or float up to 1
KINDS = {"int": int, "float": int | float, "bool": bool, "str": str}


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raise UserError for an option that is not there, is set elsewhere, or has a value of another kind."""
    if not extra:
        return
    known = _signature()
    for name, value in extra.items():
        key = f"trainer.extra.{name}"
        if name in ELSEWHERE:
            raise UserError("config", key, value, f"is no extra: {ELSEWHERE[name]}")
        if name in FIXED:
            raise UserError("config", key, value, f"cannot be set: {FIXED[name]}")
        if name not in known:
            fix = f"no such Trainer option; {suggest(name, set(known) - set(ELSEWHERE) - set(FIXED))}"
            raise UserError("config", key, value, fix)
        _check_kind(key, value, known[name])
        if name in SHARES and isinstance(value, int | float):
            _check_share(key, value)


def _check_kind(key: str, value: Any, annotation: str) -> None:
    """Compare a plain value with an annotation such as `Optional[Union[int, float]]`; other kinds pass through."""
    words = set(annotation.replace("[", " ").replace("]", " ").replace(",", " ").replace("|", " ").split())
    plain = words & set(KINDS)
    if not plain or not words <= {*KINDS, "Optional", "Union", "None"}:
        return
    if value is None and words & {"Optional", "None"}:
        return
    fits = any(isinstance(value, KINDS[word]) and (word == "bool" or not isinstance(value, bool)) for word in plain)
    if not fits:
        raise UserError("config", key, value, f"expected {' or '.join(sorted(plain))}")


def _check_share(key: str, value: int | float) -> None:
    if value <= 0 or (isinstance(value, float) and value > 1):
        raise UserError("config", key, value, "use a number of batches from 1, or a share above 0 and up to 1.0")


@functools.cache
def _signature() -> dict[str, str]:
    """The Trainer's parameters with their annotations, read from its source: importing it takes seconds."""
    spec = find_spec("pytorch_lightning")
    places = spec.submodule_search_locations if spec is not None else None
    if not places:
        raise UserError("pytorch_lightning", fix="is not installed; run make install")
    tree = ast.parse((Path(places[0]) / "trainer" / "trainer.py").read_text(encoding="utf-8"))
    trainer = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Trainer")
    init = next(node for node in trainer.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    arguments = [*init.args.args[1:], *init.args.kwonlyargs]
    return {one.arg: ast.unparse(one.annotation) if one.annotation else "" for one in arguments}
