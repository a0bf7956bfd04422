"""Run folders: one folder a run that nothing overwrites, with the provenance of every number in it."""

from __future__ import annotations

import json
import logging
import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.io.jsonl import write_json

log = logging.getLogger(__name__)
MARKER = "run.json"
TAKEN = "holds a run or other files already; choose another folder with hydra.run.dir=DIR or remove it"
PACKAGES = (
    "skillfit", "torch", "transformers", "sentence-transformers", "pytorch-lightning", "datasets", "bm25s",
    "numpy", "scipy", "scikit-learn", "tokenizers", "hydra-core",
)  # fmt: skip


@dataclass
class RunFolder:
    """The folder of one run: claimed for this process alone, marked running, finished or failed in `run.json`.

    facts: what the job adds to the provenance as it learns it (data hashes, model fingerprints, counts).
    """

    path: Path
    job: str
    config: Mapping[str, Any]
    seed: int
    facts: dict[str, Any] = field(default_factory=dict)
    started: str = ""

    @classmethod
    def claim(cls, path: Path | str, *, job: str, config: Mapping[str, Any], seed: int) -> RunFolder:
        """Take an absent or empty folder for this run and write its config there.

        Raises UserError if the folder holds anything already, or if another process takes it at the same moment.
        """
        folder = Path(path)
        refuse_run_folder(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            run = cls(folder, job, config, seed, started=_now())
            run._take()
        except FileExistsError as error:
            raise UserError("hydra.run.dir", fix=f"{folder} {TAKEN}") from error
        except OSError as error:
            raise UserError("hydra.run.dir", fix=f"{folder} cannot be written ({error.strerror})") from error
        write_json(folder / "config.json", dict(config))
        return run

    def mark(self, status: str, reason: str = "") -> None:
        """Write the run's state (`finished`, `failed` with its reason) into `run.json`."""
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
            "config": dict(self.config),
            "config_hash": hash_text(json.dumps(self.config, sort_keys=True, default=str)),
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
        """Write `provenance.json` and mark the run finished."""
        write_json(self.path / "provenance.json", self.provenance())
        self.mark("finished")

    def _state(self, status: str) -> dict[str, Any]:
        return {"job": self.job, "status": status, "started": self.started, "pid": os.getpid()}

    def _take(self) -> None:
        """Make `run.json`, whole from its first moment; FileExistsError if another process was faster."""
        draft = self.path / f".{MARKER}.{os.getpid()}.{time.monotonic_ns()}"
        write_json(draft, self._state("running"))
        try:
            os.link(draft, self.path / MARKER)  # unlike a rename, a link never replaces what is there
        finally:
            draft.unlink()


def refuse_run_folder(folder: Path) -> None:
    """Raise UserError if a folder cannot become a run's: it holds something, or is no folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError("hydra.run.dir", fix=f"{folder} {TAKEN}")


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
