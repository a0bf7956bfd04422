"""UP-29, UP-31: an Optuna sweep under joblib and under Ray, killed half-way and resumed, loses and repeats no trial."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAUNCHERS = {
    "joblib": [],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2", "+hydra.launcher.ray.init.include_dashboard=false"],
}
pytestmark = pytest.mark.slow


def sweep(folder: Path, model: Path, launcher: str, *settings: str) -> subprocess.Popen[str]:
    command = [
        sys.executable, "train.py", "-m", "search=lr", "hydra/sweeper=optuna", "hydra.sweeper.n_trials=4",
        "hydra.sweeper.n_jobs=2", f"hydra/launcher={launcher}", *LAUNCHERS[launcher], f"component.model={model}",
        "view=nd", "trainer.max_epochs=2", "trainer.threads=1", f"cache={folder.parent / 'cache'}",
        f"hydra.sweep.dir={folder}", "resume=auto", *settings,
    ]  # fmt: skip
    environment = os.environ | {"RAY_AUTH_MODE": "disabled", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def states(folder: Path) -> dict[str, dict[str, object]]:
    return {file.parent.name: json.loads(file.read_text()) for file in sorted(folder.glob("*/run.json"))}


def kill_everything(process: subprocess.Popen[str], folder: Path) -> None:
    """The leader, and whatever it started to write into the sweep's folder in sessions of its own."""
    os.killpg(process.pid, signal.SIGKILL)
    for state in states(folder).values():
        try:
            os.kill(int(str(state["pid"])), signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_killed_sweep_resumes_without_losing_or_repeating_a_trial(tiny_encoder, tmp_path, launcher):
    if launcher == "ray" and find_spec("ray") is None:
        pytest.skip("ray is not installed (the extra `ray`)")
    folder = tmp_path / "sweep"
    killed = sweep(folder, tiny_encoder, launcher)
    deadline = time.monotonic() + 300
    while sum(state["status"] == "finished" for state in states(folder).values()) < 2:
        assert killed.poll() is None, killed.communicate()[1][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    kill_everything(killed, folder)
    before = {name: state for name, state in states(folder).items() if state["status"] == "finished"}
    assert 2 <= len(before) < 4
    again = sweep(folder, tiny_encoder, launcher)
    out, err = again.communicate(timeout=600)
    assert again.returncode == 0, err[-3000:]
    after = states(folder)
    assert sorted(after) == ["0", "1", "2", "3"]
    assert all(state["status"] == "finished" for state in after.values())
    for name, state in before.items():
        assert after[name] == state  # not run again
    rates = {json.loads((folder / name / "config.json").read_text())["component"]["learning_rate"] for name in after}
    assert len(rates) == 4
    best = max(after, key=lambda name: (after[name]["metric"], -int(name)))
    assert f"Best of 4 trials: {folder / best}" in " ".join(out.split())
    assert "4 of 4 jobs finished" in out


def test_up28_a_failed_trial_is_recorded_and_the_rest_go_on(tiny_encoder, tmp_path):
    folder = tmp_path / "sweep"
    command = [
        sys.executable, "train.py", "-m", "component.learning_rate=1e-3,1e30", "seed=0,1", "hydra/launcher=joblib",
        "hydra.launcher.n_jobs=1", f"component.model={tiny_encoder}", "view=nd", "trainer.max_epochs=1",
        f"cache={tmp_path / 'cache'}", f"hydra.sweep.dir={folder}",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=600)
    found = states(folder)
    assert [found[name]["status"] for name in "0123"] == ["finished", "finished", "failed", "failed"]
    assert "not finite" in str(found["2"]["reason"])
    assert "2 of 4 jobs finished" in done.stdout
    report = subprocess.run(
        [sys.executable, "-m", "skillfit.cli.main", "report", f"sweep={folder}", f"out={tmp_path / 'report'}"],
        cwd=ROOT, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert report.returncode == 0, report.stderr
    table = json.loads((tmp_path / "report" / "sweep.json").read_text())
    assert len(table["jobs"]) == 4
    assert "report.html" in {path.name for path in (tmp_path / "report").iterdir()}
