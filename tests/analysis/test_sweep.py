"""A sweep's table: what differed, intervals, failures with reasons, the best by the dev metric, and what it means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from skillfit.analysis.console import print_sweep
from skillfit.analysis.sweep import read_sweep
from skillfit.analysis.sweep_page import save_sweep
from skillfit.errors import UserError
from skillfit.io.lock import FolderLock


def add(
    root: Path, name: str, *overrides: str, status: str = "finished", metric=None, dev: str = "dev", **more
) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    config = {"component": {"monitor": "nDCG@10", "dev_split": dev}}
    state = {"status": status, "overrides": ["view=nd", "resume=auto", *overrides], **more}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "run.json").write_text(json.dumps(state | ({} if metric is None else {"metric": metric})))
    rows = [
        {"metric": m, "value": v, "low": 0.1, "high": 0.9, "n": 7}
        for m, v in (("Hit@1", metric), ("nDCG@10", 0.01), ("nDCG@10", metric))
    ]
    if metric is not None:
        (folder / "metrics.json").write_text(json.dumps({"rows": rows}))
    return folder


@pytest.fixture
def sweep(tmp_path) -> Path:
    root = tmp_path / "sweep"
    add(root, "0", "lr=1e-5", metric=0.4)
    add(root, "1", "lr=1e-4", metric=0.6)
    add(root, "2", "lr=9", status="failed", reason="loss = nan")
    add(root, "10", "lr=1e-3", status="running")
    (root / "11").mkdir()
    return root


def test_jobs_in_order_with_what_differs(sweep):
    found = read_sweep(sweep)
    assert [job.name for job in found.jobs] == ["0", "1", "2", "10", "11"]
    assert [dict(job.settings) for job in found.jobs] == [
        {"lr": "1e-5"}, {"lr": "1e-4"}, {"lr": "9"}, {"lr": "1e-3"}, {},
    ]  # fmt: skip
    assert [job.status for job in found.jobs] == ["finished", "finished", "failed", "stopped", "not started"]
    assert found.jobs[2].reason == "loss = nan"


def test_the_best_has_its_interval_and_the_number_of_trials(sweep):
    found = read_sweep(sweep)
    assert found.best is not None
    assert (found.best.name, found.best.low, found.best.high, found.best.n) == ("1", 0.1, 0.9, 7)
    notes = " ".join(found.notes())
    assert f"Best of 5 trials: {sweep / '1'}" in notes
    assert "No job of the sweep scored the test split" in notes


def test_a_live_job_is_running(sweep):
    lock = FolderLock(sweep / "10")
    assert lock.take()
    assert read_sweep(sweep).jobs[3].status == "running"
    lock.release()


def test_choosing_on_the_test_split_is_said(tmp_path):
    add(tmp_path / "s", "0", metric=0.5, dev="test")
    assert any("no figure of that split is unbiased" in note for note in read_sweep(tmp_path / "s").notes())


def test_without_a_finished_job_there_is_no_best(tmp_path):
    add(tmp_path / "s", "0", status="failed", reason="x")
    assert read_sweep(tmp_path / "s").best is None


def test_report_and_json(sweep, tmp_path):
    found = read_sweep(sweep)
    path = save_sweep(found, tmp_path / "out")
    html = path.read_text()
    assert "http" not in html.replace("http-equiv", "")
    assert "60.0" in html
    assert "loss = nan" in html
    saved = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert saved["tried"] == 5
    assert saved["best"]["folder"] == str(sweep / "1")
    console = Console(width=140, record=True, file=(tmp_path / "x").open("w"))
    print_sweep(found, console)
    lines = console.export_text().splitlines()
    assert [line.split()[0] for line in lines if line.strip()][3:8] == ["1", "0", "2", "10", "11"]


@pytest.mark.parametrize("what", ["missing", "empty", "a run"])
def test_what_is_no_sweep_is_told(tmp_path, what):
    root = tmp_path / "s"
    if what != "missing":
        root.mkdir()
    if what == "a run":
        (root / "run.json").write_text("{}")
        (root / "log").mkdir()
    with pytest.raises(UserError, match=str(root)):
        read_sweep(root)
