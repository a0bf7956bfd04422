"""Run folders: one folder a run that nothing overwrites, with the provenance of every number in it."""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.io.jsonl import read_json, write_json
from skillfit.io.lock import LOCK, FolderLock, is_locked

log = logging.getLogger(__name__)
MARKER, CONFIG = "run.json", "config.json"
NO_MATTER = {"resume", "verbose", "cache"}  # root settings that leave a run's results as they are
TAKEN = "holds a run or other files already; choose another folder with hydra.run.dir=DIR or remove it"
PACKAGES = (
    "skillfit", "torch", "transformers", "sentence-transformers", "pytorch-lightning", "datasets", "bm25s",
    "numpy", "scipy", "scikit-learn", "tokenizers", "hydra-core",
)  # fmt: skip


@dataclass
class RunFolder:
    """The folder of one run: claimed for this process alone, marked running, finished or failed in `run.json`.

    facts: what the job adds to the provenance as it learns it (data hashes, model fingerprints, counts). metric: what
    the job returns to a sweep. resumed: an earlier process began this run. is_primary: False in the further processes
    of one run (rank > 0), which write nothing. overrides, choices: how the config was asked for.
    """

    path: Path
    job: str
    config: Mapping[str, Any]
    seed: int
    facts: dict[str, Any] = field(default_factory=dict)
    started: str = ""
    metric: float | None = None
    resumed: bool = False
    is_primary: bool = True
    overrides: Sequence[str] = ()
    choices: Mapping[str, Any] = field(default_factory=dict)
    _lock: FolderLock | None = None

    @classmethod
    def claim(
        cls, path: Path | str, *, job: str, config: Mapping[str, Any], seed: int, resume: bool = False, **how: Any
    ) -> RunFolder:
        """Take an absent or empty folder for this run and write its config there; how: `overrides` and `choices`.

        resume: a folder that holds a run of the same job and config is continued. Raises UserError if the folder holds
        anything else, or if another process has it at the same moment.
        """
        folder = Path(path)
        run = cls(folder, job, config, seed, started=_now(), **how)
        earlier = read_state(folder) if resume else None
        if earlier is None:
            refuse_run_folder(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            run._lock = FolderLock(folder)
            if not run._lock.take():
                raise UserError("hydra.run.dir", fix=f"{folder} {busy(folder)}")
            run._take() if earlier is None else run._continue()
        except FileExistsError as error:
            run.release()
            raise UserError("hydra.run.dir", fix=f"{folder} {TAKEN}") from error
        except OSError as error:
            run.release()
            raise UserError("hydra.run.dir", fix=f"{folder} cannot be written ({error.strerror})") from error
        if not run.resumed:
            write_json(folder / CONFIG, dict(config))
        return run

    @classmethod
    def join(cls, path: Path | str, *, job: str, config: Mapping[str, Any], seed: int) -> RunFolder:
        """The folder as a further process of the same run sees it: nothing is claimed, marked or written."""
        return cls(Path(path), job, config, seed, is_primary=False, resumed=(Path(path) / "checkpoints").is_dir())

    def mark(self, status: str, reason: str = "") -> None:
        """Write the run's state (`finished`, `failed` with its reason) into `run.json`."""
        if self.is_primary:
            ended = {"ended": _now()} | ({"reason": reason} if reason else {})
            write_json(self.path / MARKER, self._state(status) | ended)

    def provenance(self) -> dict[str, Any]:
        """What produced this run's numbers: config and its hash, data, seed, code, versions, machine, command."""
        return {
            "job": self.job,
            "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
            "seed": self.seed,
            "started": self.started,
            "written": _now(),
            "resumed": self.resumed,
            "config": dict(self.config),
            "config_hash": config_hash(self.config, self.path),
            "code": git_state(Path(__file__).parent),
            "versions": versions(),
            "machine": {
                "system": platform.platform(),
                "processor_count": os.cpu_count(),
                "python": sys.version.split()[0],
            },
            **self.facts,
        }

    def finish(self) -> None:
        """Write `provenance.json` and mark the run finished. Raises UserError for a metric that is no finite number."""
        if self.metric is not None and not math.isfinite(self.metric):
            raise UserError(self.path, "metric", self.metric, "the run ended without a finite dev metric")
        if self.is_primary:
            write_json(self.path / "provenance.json", self.provenance())
        self.mark("finished")

    def release(self) -> None:
        """Let other processes have the folder; the end of this process does so too."""
        if self._lock is not None:
            self._lock.release()

    def _state(self, status: str) -> dict[str, Any]:
        state = {"job": self.job, "status": status, "started": self.started, "pid": os.getpid()}
        state |= {"folder": str(self.path.absolute()), "config_hash": config_hash(self.config, self.path)}
        state |= {"overrides": list(self.overrides), "choices": dict(self.choices), "resumed": self.resumed}
        return state if self.metric is None else {**state, "metric": self.metric}

    def _take(self) -> None:
        """Make `run.json`, whole from its first moment; FileExistsError if another process was faster."""
        draft = self.path / f".{MARKER}.{os.getpid()}.{time.monotonic_ns()}"
        write_json(draft, self._state("running"))
        try:
            os.link(draft, self.path / MARKER)  # unlike a rename, a link never replaces what is there
        finally:
            draft.unlink()

    def _continue(self) -> None:
        """Go on where an earlier process of the same run stopped."""
        earlier = read_state(self.path) or {}  # as it is now that nobody else can write it
        if earlier.get("status") == "finished" or earlier.get("config_hash") != config_hash(self.config, self.path):
            raise FileExistsError
        self.started = str(earlier.get("started") or self.started)
        self.overrides, self.choices = earlier.get("overrides", []), earlier.get("choices", {})
        self.resumed = (self.path / CONFIG).exists()
        write_json(self.path / MARKER, self._state("running"))


def read_state(folder: Path) -> dict[str, Any] | None:
    """What `run.json` of a folder says; None where there is none. Raises UserError if it is malformed."""
    if not (folder / MARKER).is_file():
        return None
    state = read_json(folder / MARKER)
    if not isinstance(state, dict):
        raise UserError(folder / MARKER, fix="expected an object; the run cannot be told from it, so remove the folder")
    return state


def record_failure(path: Path, *, job: str, config: Mapping[str, Any], reason: str, **how: Any) -> None:
    """Leave `run.json` of a run that failed before it began, unless the folder holds anything."""
    if any(path.iterdir()) if path.is_dir() else path.exists():
        return
    path.mkdir(parents=True, exist_ok=True)
    run = RunFolder(path, job, config, 0, started=_now(), **how)
    write_json(path / CONFIG, dict(config))
    run.mark("failed", reason)


def config_hash(config: Mapping[str, Any], folder: Path) -> str:
    """SHA-256 of the settings that shape a run; two folders and two caches make no difference."""
    return hash_text(json.dumps(comparable(config, folder), sort_keys=True, default=str))


def comparable(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The config without what leaves results as they are; paths of the run folder and the cache are named so."""
    own, cache = str(folder.absolute()), config.get("cache")

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, str) and (value == own or value.startswith(f"{own}/")):
            return f"<run>{value[len(own) :]}"
        if cache is not None and value == cache:
            return "<cache>"
        return value

    return {key: plain(value) for key, value in config.items() if key not in NO_MATTER}


def busy(folder: Path) -> str:
    """What to say of a folder that a live process writes."""
    state = read_state(folder) or {}
    return f"is being written by process {state.get('pid', 'unknown')}; wait for it or choose another folder"


def refuse_run_folder(folder: Path) -> None:
    """Raise UserError if a folder cannot become a run's: it holds something, or is no folder."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(path.name != LOCK for path in folder.iterdir()):
        live = folder.is_dir() and is_locked(folder)
        raise UserError("hydra.run.dir", fix=f"{folder} {busy(folder) if live else TAKEN}")


def git_state(folder: Path) -> dict[str, Any]:
    """The commit the code was run from and whether tracked files differed from it; nulls outside a checkout."""

    def git(*args: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may lie inside somebody else's repository; only a checkout tracks this very file.
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return {"commit": None, "modified": None}
    return {"commit": git("rev-parse", "HEAD"), "modified": bool(git("status", "--porcelain", "--untracked-files=no"))}


def versions() -> dict[str, str]:
    """Installed versions of the packages that shape the numbers."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
