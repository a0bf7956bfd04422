"""The `skillfit` command itself."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from skillfit import __version__
from skillfit.cli.main import COMMANDS, main


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "skillfit.cli.main", *arguments], capture_output=True, text=True, timeout=60
    )


def test_help_lists_every_command_at_once():
    started = time.monotonic()
    done = call("--help")
    assert done.returncode == 0
    assert time.monotonic() - started < 5
    assert all(name in done.stdout for name in COMMANDS)


def test_version(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["skillfit", "--version"])
    main()
    assert capsys.readouterr().out == f"skillfit {__version__}\n"


def test_an_unknown_command_is_named_with_the_closest(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["skillfit", "imprt"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "did you mean import" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_its_help(name):
    done = call(name, "--help")
    assert done.returncode == 0, done.stderr
