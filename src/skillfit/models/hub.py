"""Models from a hub: the copy on this disk, or a download; a hub that cannot be reached is told within seconds."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skillfit.errors import UserError

log = logging.getLogger(__name__)
ANSWER_WITHIN = 4.0  # seconds until a hub counts as unreachable; name look-up has no time limit of its own
# Weights as safetensors and the text files beside them; no pickles, no exports to other engines.
WANTED = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
UNWANTED = ["onnx/*", "openvino/*", "original/*", "*/onnx/*", "*/openvino/*"]
MARKS = ("modules.json", "config.json", "adapter_config.json")  # one of them lies at the top of every model
ABSENT = "is not on this disk,"
LOUD = ("huggingface_hub", "httpx", "httpx2", "httpcore", "httpcore2")


def fetch(name: str) -> Path:
    """The folder on this disk with the newest files of a hub model, downloaded where they are not cached.

    Without a hub (HF_HUB_OFFLINE set, or no answer within seconds) the cached copy is used. HF_ENDPOINT, HF_HOME and
    HF_TOKEN mean what they mean to huggingface_hub. Raises UserError if the model cannot be had.
    """
    from huggingface_hub import constants

    with _quiet():
        cached = _cached(name)
        if constants.HF_HUB_OFFLINE:
            if cached is None:
                raise _refusal(name, f"{ABSENT} and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set")
            return cached
        trouble = _asked(name)
        if trouble is None:
            return _downloaded(name)
        if cached is None:
            raise _refusal(name, f"{ABSENT} and {trouble}")
    log.warning("%s: %s; using the copy on this disk (%s)", name, trouble, cached.name[:12])
    return cached


def _refusal(name: str, trouble: str) -> UserError:
    fix = f"cannot be loaded: it {trouble}; give a model folder or a hub name that can be reached"
    return UserError("config", "model", name, fix)


def _cached(name: str) -> Path | None:
    """The cached snapshot, whoever put it there, if it has weights: an interrupted download leaves a folder too."""
    from huggingface_hub import try_to_load_from_cache

    for file in MARKS:
        found = try_to_load_from_cache(name, file)
        if isinstance(found, str) and any(Path(found).parent.rglob("*.safetensors")):
            return Path(found).parent
    return None


def _asked(name: str) -> str | None:
    """Ask the hub once for the model: None if it has it, else what is the matter."""
    answers: list[str | None] = []
    # In a thread, for the resolver's own timeouts cannot be set from here.
    asking = threading.Thread(target=lambda: answers.append(_ask(name)), daemon=True)
    asking.start()
    asking.join(2 * ANSWER_WITHIN)
    return answers[0] if answers else _unreachable("no answer")


def _ask(name: str) -> str | None:
    from huggingface_hub import constants
    from huggingface_hub.utils import build_hf_headers, get_session

    url = f"{constants.ENDPOINT}/api/models/{name}"
    try:
        code = get_session().get(url, headers=build_hf_headers(), timeout=ANSWER_WITHIN).status_code
    except Exception as error:  # connection, name look-up, TLS, proxy, time: all mean that nobody answers
        return _unreachable(_first_line(error))
    if code in (401, 403, 404):
        return f"{constants.ENDPOINT} does not know it, or wants a token (HF_TOKEN) that may read it"
    return _unreachable(f"HTTP status {code}") if code >= 500 else None


def _unreachable(why: str) -> str:
    from huggingface_hub import constants

    return f"the hub {constants.ENDPOINT} cannot be reached ({why})"


def _downloaded(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    log.info("fetching %s from the hub, unless it is cached", name)
    try:
        return Path(snapshot_download(name, allow_patterns=WANTED, ignore_patterns=UNWANTED))
    except Exception as error:  # the hub's library has many; the user needs the model's name
        raise _refusal(name, f"cannot be downloaded ({_first_line(error)})") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No word from the libraries beneath: what they have to say is told in one line by whoever calls."""
    kept: list[tuple[Any, int]] = [(logging.getLogger(name), logging.getLogger(name).level) for name in LOUD]
    for logger, _ in kept:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in kept:
            logger.setLevel(level)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
