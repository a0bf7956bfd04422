"""Running the entry points as a user does: another process, another folder, no terminal."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from commands import ROOT, Command, Ended


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all commands, so that skillfit-mini is imported once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environment(cache_folder: Path) -> dict[str, str]:
    """The variables a command runs with."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("HYDRA_FULL_ERROR", "PYTEST_CURRENT_TEST")
    }
    return kept | {"SKILLFIT_CACHE": str(cache_folder)}


@pytest.fixture
def command(tmp_path: Path, environment: dict[str, str]) -> Command:
    """Run `python train.py …` or `python evaluate.py …` in an empty folder."""

    def run(script: str, *arguments: str, timeout: float = 120) -> Ended:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, str(ROOT / script), *arguments],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Ended(done.returncode, done.stdout, done.stderr, seconds)

    return run
