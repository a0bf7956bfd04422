"""The toy job as its own process, which many tests start, kill and resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

TOY = Path(__file__).parent / "toy_job.py"


class Toy:
    """Starts the toy job in an empty folder with a clean environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        gone = {"HYDRA_FULL_ERROR", "LOCAL_RANK", "RANK", "WANDB_API_KEY", "WANDB_MODE"}
        kept = {name: value for name, value in os.environ.items() if name not in gone}
        return subprocess.Popen(
            [sys.executable, str(TOY), *words],
            cwd=self.folder,
            env={**kept, "RAY_AUTH_MODE": "disabled", "NETRC": "nowhere", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_hear_interrupts,
        )

    def run(self, *words: str, code: int = 0, **variables: str) -> tuple[str, str]:
        process = self.start(*words, **variables)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out, err


def _hear_interrupts() -> None:
    """A shell starts its background jobs deaf to SIGINT, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[str], limit: float = 60.0) -> None:
    deadline = time.monotonic() + limit
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ready(), process.communicate()[1] if process.poll() is not None else "too slow"
