"""A run killed at any step and resumed ends with the very weights of one that was left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fake_training import fit, toy_benchmark
from fakes import make_tiny_encoder
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder

HERE = Path(__file__).resolve().parent
# Batches of 8 over 40 pairs: five steps an epoch, fifteen in all; a point to resume from every second step.
PLAIN = {"batch_size": 8, "checkpoint_every": 2, "dropout": 0.1}


def killed(folder: Path, model: Path, step: int, options: dict[str, object]) -> None:
    """A run in a process of its own that dies by SIGKILL after the step."""
    command = [sys.executable, str(HERE / "killed.py"), str(folder), str(model), str(step), json.dumps(options)]
    paths = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (folder / "model").exists()


def finished(folder: Path, model: Path, options: dict[str, object]) -> Path:
    """The same run, to its end."""
    fit(folder, toy_benchmark(), model, epochs=3, seed=7, resume=True, **options)
    return folder


def outcome(folder: Path) -> tuple[dict[str, torch.Tensor], list[dict[str, object]]]:
    rows = json.loads((folder / "metrics.json").read_text())["rows"]
    return BiEncoder.load(str(folder / "model")).model.state_dict(), rows


@pytest.fixture(scope="module")
def uninterrupted(tiny_encoder, tmp_path_factory):
    return outcome(finished(tmp_path_factory.mktemp("whole") / "run", tiny_encoder, PLAIN))


@pytest.mark.parametrize("step", [3, *(pytest.param(step, marks=pytest.mark.slow) for step in (1, 5, 8, 14))])
def test_killed_in_mid_epoch_and_resumed_gives_equal_weights(tiny_encoder, tmp_path, uninterrupted, step):
    folder = tmp_path / "run"
    killed(folder, tiny_encoder, step, PLAIN)
    weights, rows = outcome(finished(folder, tiny_encoder, PLAIN))
    expected, expected_rows = uninterrupted
    assert all(torch.equal(weights[name], tensor) for name, tensor in expected.items())
    assert rows == expected_rows  # the dev values of every epoch, the one before the kill included


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"lora": {"rank": 4}},
        {"cached": True, "chunk": 3},
        {"workers": 2},
        {"trainer": {"accumulate_grad_batches": 2}},
        {"patience": 1, "learning_rate": 1e-9},
    ],
    ids=["lora", "cached", "workers", "accumulating", "stopping early"],
)
def test_up17_and_so_it_does_under_other_settings(tiny_encoder, tmp_path, options):
    settings = {**PLAIN, **options}
    expected, rows = outcome(finished(tmp_path / "whole", tiny_encoder, settings))
    killed(tmp_path / "killed", tiny_encoder, 3, settings)
    weights, resumed_rows = outcome(finished(tmp_path / "killed", tiny_encoder, settings))
    assert all(torch.equal(weights[name], tensor) for name, tensor in expected.items())
    assert rows == resumed_rows


def test_up23_a_damaged_or_foreign_checkpoint_is_refused(tiny_encoder, tmp_path, benchmark):
    folder = tmp_path / "run"
    killed(folder, tiny_encoder, 3, PLAIN)
    point = folder / "checkpoints" / "resume.ckpt"
    other = make_tiny_encoder(tmp_path / "other", hidden=16)
    with pytest.raises(UserError, match=r"resume\.ckpt: .* = \(\d+, 32\): .*this model has \(\d+, 16\)"):
        fit(folder, benchmark, other, seed=7, resume=True, **PLAIN)
    point.write_bytes(point.read_bytes()[:1000])
    with pytest.raises(UserError, match=r"resume\.ckpt: cannot be read safely"):
        fit(folder, benchmark, tiny_encoder, seed=7, resume=True, **PLAIN)
