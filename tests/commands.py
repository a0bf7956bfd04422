"""What running an entry point as a user leaves behind; the fixture `command` of tests/conf runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Ended:
    """What a command left: exit code, both outputs, and the processor time it took in seconds."""

    code: int
    stdout: str
    stderr: str
    seconds: float


Command = Callable[..., Ended]
