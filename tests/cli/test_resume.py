"""A run folder that holds a run: refused, continued or its result returned, never muddled (UP-22, UP-23, UP-30)."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from skillfit.cli.resume import differences
from toys import wait_for


def state(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


def attempts(folder: Path) -> list[str]:
    return (folder / "attempts").read_text().split()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_null_refuses_a_folder_that_holds_a_run_and_leaves_it_as_it_was(toy, tmp_path):
    run = tmp_path / "run"
    toy.run("logger=none", f"hydra.run.dir={run}")
    before = files(run)
    _, err = toy.run("logger=none", f"hydra.run.dir={run}", code=2)
    assert err.startswith("error: hydra.run.dir: ")
    assert "resume=auto" in err
    assert files(run) == before


def test_auto_starts_in_an_empty_folder_and_returns_what_is_finished(toy, tmp_path):
    words = ("logger=none", f"hydra.run.dir={tmp_path / 'run'}", "resume=auto")
    toy.run(*words)
    metric = state(tmp_path / "run")["metric"]
    before = files(tmp_path / "run")
    out, err = toy.run(*words, "verbose=true", f"cache={tmp_path / 'elsewhere'}")
    assert out == f"{tmp_path / 'run'}\n"
    assert f"finished already with this config: metric {metric:.4f}" in err
    assert files(tmp_path / "run") == before


def test_auto_refuses_another_config_naming_both_values(toy, tmp_path):
    toy.run("logger=none", f"hydra.run.dir={tmp_path / 'run'}")
    _, err = toy.run("logger=none", f"hydra.run.dir={tmp_path / 'run'}", "resume=auto", "seed=3", code=2)
    assert "seed = 0 there, 3 here" in err
    assert len(err.splitlines()) == 1


def test_auto_refuses_a_folder_of_other_files(toy, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    _, err = toy.run("logger=none", f"hydra.run.dir={tmp_path / 'run'}", "resume=auto", code=2)
    assert "holds a run or other files" in err


def test_a_killed_run_is_continued_and_a_live_one_left_alone(toy, tmp_path):
    run = tmp_path / "run"
    words = ("logger=none", f"hydra.run.dir={run}", "resume=auto")
    process = toy.start(*words, TOY_SLEEP="60")
    wait_for(lambda: (run / "attempts").exists(), process)
    _, err = toy.run(*words, code=2)
    assert f"is being written by process {process.pid}" in err
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert state(run)["status"] == "running"
    toy.run(*words)
    assert attempts(run) == ["False", "True"]
    assert state(run)["status"] == "finished"


def test_a_folder_is_resumed_by_name_with_its_own_config(toy, tmp_path):
    run = tmp_path / "run"
    process = toy.start("logger=none", f"hydra.run.dir={run}", "component.learning_rate=1e-3", TOY_SLEEP="60")
    wait_for(lambda: (run / "attempts").exists(), process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    moved = run.rename(tmp_path / "moved =, run")
    out, _ = toy.run(f"resume='{moved}'", "verbose=false", "component.learning_rate=1e-3", "logger=none")
    assert out.splitlines()[-1] == str(moved)
    assert state(moved)["metric"] == pytest.approx(0.5)
    assert state(moved)["choices"]["logger"] == "none"
    assert attempts(moved) == ["False", "True"]
    assert not list(toy.folder.rglob("runs/train/*"))


def test_a_folder_resumed_by_name_refuses_other_settings(toy, tmp_path):
    toy.run("logger=none", f"hydra.run.dir={tmp_path / 'run'}")
    before = files(tmp_path / "run")
    _, err = toy.run(f"resume={tmp_path / 'run'}", "trainer.max_epochs=9", "view=nd", code=2)
    assert "trainer.max_epochs = 3 there, 9 here; view = 'full' there, 'nd' here" in err
    assert files(tmp_path / "run") == before


@pytest.mark.parametrize("what", ["nowhere", "empty"])
def test_a_folder_without_a_run_is_named_at_once(toy, tmp_path, what):
    (tmp_path / "empty").mkdir()
    out, err = toy.run(f"resume={tmp_path / what}", code=2)
    assert out == ""
    assert str(tmp_path / what) in err
    assert not list(toy.folder.rglob("runs/train/*"))


def test_a_further_process_joins_without_a_trace(toy, tmp_path):
    run = tmp_path / "run"
    process = toy.start("logger=none", f"hydra.run.dir={run}", TOY_SLEEP="60")
    wait_for(lambda: (run / "attempts").exists() and attempts(run) == ["False"], process)
    before = files(run)
    out, _ = toy.run("logger=none", f"hydra.run.dir={run}", LOCAL_RANK="1")
    assert out == ""
    assert files(run) == before
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_differences_name_dotted_keys():
    before, now = {"a": {"b": 1, "c": [1]}, "d": None}, {"a": {"b": 2, "c": [1]}, "e": 0}
    assert list(differences(before, now)) == [("a.b", 1, 2), ("e", None, 0)]
