"""One folder a run: nothing is overwritten, and runs started together do not meet."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from commands import ROOT, Command

EVALUATE = ("retriever=lexical", "data=mini", "suite.bootstrap.n_resamples=20", "verbose=false")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def status(folder: Path) -> str:
    return str(json.loads((folder / "run.json").read_text(encoding="utf-8"))["status"])


def started(tmp_path: Path, environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    words = [sys.executable, str(ROOT / "evaluate.py"), *EVALUATE, *arguments]
    return subprocess.Popen(
        words,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_up_22_a_second_run_into_the_same_folder_is_refused_and_changes_nothing(
    command: Command, tmp_path: Path
) -> None:
    first = command("evaluate.py", *EVALUATE, "hydra.run.dir=out")
    assert first.code == 0, first.stderr
    folder = Path(first.stdout.splitlines()[-1])
    assert folder.resolve() == (tmp_path / "out").resolve()
    assert status(folder) == "finished"
    before = contents(folder)
    second = command("evaluate.py", *EVALUATE, "seed=1", "hydra.run.dir=out")
    assert second.code == 2
    assert second.stderr.startswith("error: hydra.run.dir: ")
    assert "hydra.run.dir=DIR" in second.stderr
    assert contents(folder) == before


def test_up_22_an_existing_empty_folder_is_used(command: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    ended = command("evaluate.py", *EVALUATE, "hydra.run.dir=out")
    assert ended.code == 0, ended.stderr
    assert status(tmp_path / "out") == "finished"


def test_up_26_no_file_of_a_run_needs_quotes_on_the_command_line(command: Command) -> None:
    ended = command("evaluate.py", *EVALUATE)
    assert ended.code == 0, ended.stderr
    folder = Path(ended.stdout.splitlines()[-1])
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        word = str(Path("runs", *path.parts[path.parts.index("runs") + 1 :]))
        (override,) = OverridesParser.create().parse_overrides([f"run={word}"])
        assert override.value() == word


@pytest.mark.slow
def test_up_30_four_runs_started_together_get_four_folders(tmp_path: Path, environment: dict[str, str]) -> None:
    runs = [started(tmp_path, environment) for _ in range(4)]
    outputs = [run.communicate(timeout=300) for run in runs]
    assert [run.returncode for run in runs] == [0] * 4, "\n".join(stderr for _, stderr in outputs)
    folders = {Path(stdout.splitlines()[-1]) for stdout, _ in outputs}
    assert len(folders) == 4
    assert {status(folder) for folder in folders} == {"finished"}


def test_up_30_of_four_runs_sent_to_one_folder_one_gets_it(tmp_path: Path, environment: dict[str, str]) -> None:
    runs = [started(tmp_path, environment, "hydra.run.dir=out", f"seed={seed}") for seed in range(4)]
    outputs = [run.communicate(timeout=300) for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 2, 2, 2], "\n".join(stderr for _, stderr in outputs)
    winner = next(seed for seed, run in enumerate(runs) if run.returncode == 0)
    assert json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))["seed"] == winner
    for run, (_, stderr) in zip(runs, outputs, strict=True):
        if run.returncode:
            assert stderr.startswith("error: hydra.run.dir: ")


@pytest.mark.parametrize("script", ["train.py", "evaluate.py"])
def test_help_is_printed_without_loading_anything_heavy(command: Command, script: str) -> None:
    ended = command(script, "--help")
    assert ended.code == 0, ended.stderr
    assert "retriever" in ended.stdout
    assert ended.seconds < 5
