"""Signals end a job with their own exit code, one line, and a folder that says so."""

from __future__ import annotations

import json
import os
import signal

import pytest

from skillfit.cli.signals import Terminated, is_secondary, reason, stopped_by
from toys import wait_for


@pytest.mark.parametrize(
    ("number", "code", "line", "why"),
    [
        (signal.SIGTERM, 143, "terminated", "terminated (SIGTERM)"),
        (signal.SIGINT, 130, "interrupted", "interrupted (SIGINT)"),
    ],
)
def test_a_signal_ends_a_job(toy, tmp_path, number, code, line, why):
    process = toy.start("logger=none", f"hydra.run.dir={tmp_path / 'run'}", TOY_SLEEP="60")
    wait_for(lambda: (tmp_path / "run" / "attempts").exists(), process)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, "", f"{line}\n")
    state = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (state["status"], state["reason"]) == ("failed", why)


def test_a_signal_ends_a_sweep(toy, tmp_path):
    process = toy.start("-m", "seed=0,1", "logger=none", f"hydra.sweep.dir={tmp_path / 's'}", TOY_SLEEP="60")
    wait_for(lambda: (tmp_path / "s" / "0" / "attempts").exists(), process)
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 143
    assert err.splitlines()[-1] == "terminated"
    assert not (tmp_path / "s" / "1").exists()


def lightning_exit(cause: BaseException | None) -> BaseException:
    try:
        try:
            if cause is not None:
                raise cause
        finally:
            raise SystemExit(1)
    except SystemExit as error:
        return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Terminated(), 143),
        (KeyboardInterrupt(), 130),
        (lightning_exit(KeyboardInterrupt()), 130),
        (lightning_exit(ValueError()), None),
        (lightning_exit(None), None),
        (type("SIGTERMException", (SystemExit,), {})(), 143),
        (ValueError("x"), None),
    ],
)
def test_how_a_job_was_stopped(error, code):
    assert stopped_by(error) == code


@pytest.mark.parametrize("error", [ValueError(), KeyError("a"), SystemExit(), MemoryError(), Terminated()])
def test_a_reason_is_never_empty(error):
    assert reason(error).strip()


@pytest.mark.parametrize(
    ("variables", "secondary"),
    [
        ({}, False),
        ({"LOCAL_RANK": "0", "NODE_RANK": "0"}, False),
        ({"LOCAL_RANK": "1", "NODE_RANK": "0"}, True),
        ({"LOCAL_RANK": "0", "NODE_RANK": "1"}, True),
        ({"RANK": "0", "LOCAL_RANK": "0"}, False),
        ({"RANK": "4", "LOCAL_RANK": "0"}, True),
        ({"SLURM_NTASKS": "2", "SLURM_PROCID": "1"}, True),
        ({"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, False),
    ],
)
def test_which_process_of_a_run_this_is(monkeypatch, variables, secondary):
    for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_NTASKS", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_secondary() == secondary
