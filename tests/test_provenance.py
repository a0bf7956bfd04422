"""Run folders: claimed once, never overwritten, and told apart by their state."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from skillfit.errors import UserError
from skillfit.provenance import RunFolder, git_state


def claim(path):
    return RunFolder.claim(path, job="evaluate", config={"seed": 1, "deep": {"key": "value"}}, seed=1)


def test_a_run_is_running_and_then_finished(tmp_path):
    run = claim(tmp_path / "run")
    assert json.loads((run.path / "run.json").read_text())["status"] == "running"
    assert json.loads((run.path / "config.json").read_text())["deep"] == {"key": "value"}
    run.facts["data"] = {"name": "toy"}
    run.finish()
    provenance = json.loads((run.path / "provenance.json").read_text())
    assert provenance["data"] == {"name": "toy"}
    assert provenance["seed"] == 1
    assert {"config_hash", "code", "versions", "machine", "command"} <= set(provenance)
    assert json.loads((run.path / "run.json").read_text())["status"] == "finished"


def test_an_empty_folder_is_used(tmp_path):
    (tmp_path / "run").mkdir()
    assert claim(tmp_path / "run").path == tmp_path / "run"


def test_up22_a_folder_that_holds_a_run_is_refused_and_left_as_it_was(tmp_path):
    claim(tmp_path / "run").finish()
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(UserError, match=r"hydra\.run\.dir"):
        claim(tmp_path / "run")
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_up30_of_many_claims_at_one_moment_one_wins(tmp_path):
    def attempt(_: int) -> bool:
        try:
            claim(tmp_path / "run")
        except UserError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1


def test_a_failed_run_says_why(tmp_path):
    run = claim(tmp_path / "run")
    run.mark("failed", "KeyboardInterrupt: ")
    state = json.loads((run.path / "run.json").read_text())
    assert (state["status"], state["reason"]) == ("failed", "KeyboardInterrupt: ")


def test_the_same_config_has_the_same_hash_whatever_its_key_order(tmp_path):
    first = RunFolder.claim(tmp_path / "a", job="x", config={"a": 1, "b": 2}, seed=0).provenance()
    second = RunFolder.claim(tmp_path / "b", job="x", config={"b": 2, "a": 1}, seed=0).provenance()
    other = RunFolder.claim(tmp_path / "c", job="x", config={"b": 2, "a": 2}, seed=0).provenance()
    assert first["config_hash"] == second["config_hash"] != other["config_hash"]


def test_outside_a_checkout_there_is_no_commit(tmp_path):
    assert git_state(tmp_path) == {"commit": None, "modified": None}
