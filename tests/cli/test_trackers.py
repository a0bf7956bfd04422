"""Trackers: no question asked, one run a job, closed with the job, never in its way (UP-32, UP-33, UP-34)."""

from __future__ import annotations

import time

import pytest
from omegaconf import OmegaConf

from skillfit.cli import trackers
from skillfit.cli.signals import abandoned
from skillfit.cli.trackers import check_tracker, tracker
from skillfit.errors import UserError

WANDB = {"_target_": "pytorch_lightning.loggers.WandbLogger", "offline": False}


class Experiment:
    def __init__(self) -> None:
        self.codes: list[int] = []
        self.wait = 0.0

    def finish(self, exit_code: int) -> None:
        time.sleep(self.wait)
        self.codes.append(exit_code)


class Tracker:
    """What a Lightning logger offers."""

    def __init__(self) -> None:
        self._experiment, self.statuses, self.params = Experiment(), [], {}

    def log_hyperparams(self, params) -> None:
        self.params = params

    def finalize(self, status: str) -> None:
        self.statuses.append(status)


@pytest.fixture
def made(monkeypatch) -> Tracker:
    logger = Tracker()
    monkeypatch.setattr(trackers, "build", lambda cfg, key: logger)
    return logger


CFG = OmegaConf.create({"logger": {"_target_": "x"}, "seed": 3})


def test_a_job_ends_its_tracker_with_its_own_config(made):
    with tracker(CFG) as logger:
        assert logger is made
    assert made.params["seed"] == 3
    assert (made.statuses, made._experiment.codes) == (["success"], [0])


def test_a_failed_job_ends_its_tracker_too(made):
    with pytest.raises(ValueError, match="x"), tracker(CFG):
        raise ValueError("x")
    assert (made.statuses, made._experiment.codes) == (["failed"], [1])


def test_a_tracker_that_hangs_is_left_behind(made, monkeypatch, caplog):
    monkeypatch.setattr(trackers, "CLOSING", 0.05)
    made._experiment.wait = 2
    started = time.monotonic()
    with tracker(CFG):
        pass
    assert time.monotonic() - started < 1
    assert "was not closed" in caplog.text
    assert abandoned.pop() == "Tracker"


def test_a_tracker_that_fails_to_close_is_told(made, monkeypatch, caplog):
    def fail(status: str) -> None:
        raise OSError("no network")

    monkeypatch.setattr(made, "finalize", fail)
    with tracker(CFG):
        pass
    assert "could not be closed: OSError: no network" in caplog.text


def test_without_a_logger_there_is_none():
    with tracker(OmegaConf.create({"logger": None})) as logger:
        assert logger is False


@pytest.fixture
def keyless(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_online_without_a_key_is_refused_before_anything_starts(keyless):
    with pytest.raises(UserError, match="no key is found; set WANDB_API_KEY"):
        check_tracker(OmegaConf.create({"logger": WANDB}))


@pytest.mark.parametrize("found", ["variable", "netrc", "offline mode", "offline"])
def test_online_with_a_key_or_offline_passes(keyless, monkeypatch, tmp_path, found):
    if found == "variable":
        monkeypatch.setenv("WANDB_API_KEY", "x")
    if found == "offline mode":
        monkeypatch.setenv("WANDB_MODE", "offline")
    if found == "netrc":
        (tmp_path / ".netrc").write_text("machine api.wandb.ai login user password x\n")
        (tmp_path / ".netrc").chmod(0o600)
    check_tracker(OmegaConf.create({"logger": WANDB | {"offline": found == "offline"}}))


def test_a_resumed_run_logs_beside_the_earlier_process(tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "metrics.csv").write_text("step\n")
    node = OmegaConf.create({"save_dir": str(tmp_path), "name": "", "version": "log"})
    trackers._keep_earlier_log(node)
    assert node.version == "log-2"


@pytest.mark.slow
def test_each_job_of_a_sweep_has_a_wandb_run_of_its_own(toy, tmp_path):
    pytest.importorskip("wandb")
    words = ("-m", "logger=wandb", "component.learning_rate=1e-4,2", f"hydra.sweep.dir={tmp_path / 's'}")
    out, _ = toy.run(*words, code=2)
    assert out.splitlines()[-1] == str(tmp_path / "s")
    assert [len(list((tmp_path / "s" / job / "wandb").glob("offline-run-*"))) for job in ("0", "1")] == [1, 1]


@pytest.mark.slow
def test_tensorboard_leaves_its_events(toy, tmp_path):
    pytest.importorskip("tensorboardX", reason="the extra `tensorboard` is not installed")
    toy.run("logger=tensorboard", f"hydra.run.dir={tmp_path / 'r'}")
    assert list((tmp_path / "r" / "log").glob("events.out.tfevents.*"))
