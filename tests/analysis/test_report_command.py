from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def report(tmp_path):
    """Run the command in a folder of its own, where it must leave nothing beside what it was asked for."""
    work = tmp_path / "work"
    work.mkdir()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "skillfit.cli.report", *arguments]
        environment = {k: v for k, v in os.environ.items() if k != "HYDRA_FULL_ERROR"}
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=120)
        assert list(work.iterdir()) == []
        assert "Traceback" not in done.stderr
        return done

    return run


def test_a_comparison_ends_stdout_with_the_path_of_its_report(make_run, report, tmp_path):
    first, second = make_run("a"), make_run("b", {"dense": 0.9})
    out = tmp_path / "out"
    asked = ["n_resamples=100", "permutations=100"]
    done = report(f"runs=[{first},{second}]", f"baseline={first}", f"out={out}", *asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(out / "report.html")
    assert "baseline bm25" in done.stdout
    assert "\x1b" not in done.stdout
    assert sorted(file.name for file in out.iterdir()) == ["comparison.json", "report.html"]


def test_one_run_gets_its_own_report_anew(make_run, report):
    folder = make_run("a")
    done = report(f"runs={folder}")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[-1]) == folder / "report.html"
    assert (folder / "report.html").exists()


def test_bad_input_ends_with_one_message_and_code_2(make_run, report, tmp_path):
    first, second = make_run("a"), make_run("b", {"dense": 0.9}, status="running")
    out = f"out={tmp_path / 'out'}"
    for arguments, told in [
        ([out], "config: runs"),
        ([f"runs=[{first},{second}]", out], "has not finished"),
        ([f"runs=[{first},{tmp_path / 'none'}]", out], "no such run folder"),
        ([f"runs=[{first},{first}]"], "config: out: is missing"),
        ([f"runs=[{first},{second}]", out, "n_resamples=0"], "n_resamples"),
        ([f"runs={first}", "baselin=x"], "baselin"),
        ([f"runs={first}", out], "nothing to compare with"),
    ]:
        done = report(*arguments)
        assert done.returncode == 2, done.stderr
        assert told in done.stderr
        assert done.stdout == ""
    assert not (tmp_path / "out").exists()
