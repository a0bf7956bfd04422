"""The make targets: listed, short, and careful with what they install over or remove."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = ["help", "install", "demo", "test", "test-slow", "lint", "type", "format", "bench", "docs", "clean"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile and what its stamp depends on."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("src", "tests", "benchmarks", "conf"):
        (tmp_path / name).mkdir()
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    words = ["make", f"PYTHON={sys.executable}", *arguments]
    return subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, timeout=60)


def stamped(folder: Path, *, age: float) -> None:
    """Pretend an installation that ended `age` seconds before the lock file was last changed."""
    stamp = folder / ".venv" / ".installed"
    stamp.parent.mkdir()
    stamp.touch()
    now = time.time()
    os.utime(stamp, (now - age, now - age))
    for name in ("requirements.lock", "pyproject.toml"):
        os.utime(folder / name, (now, now))


def test_help_is_the_default_and_lists_every_target(checkout: Path) -> None:
    done = make(checkout)
    assert [line.split()[0] for line in done.stdout.splitlines()] == TARGETS
    assert all(len(line.split()) > 1 for line in done.stdout.splitlines())


def test_no_recipe_is_longer_than_two_lines() -> None:
    joined = MAKEFILE.replace("\\\n", "")
    recipes = re.findall(r"(?:^\t.*\n?)+", joined, flags=re.MULTILINE)
    assert len(recipes) >= len(TARGETS)
    assert [recipe for recipe in recipes if len(recipe.splitlines()) > 2] == []


@pytest.mark.parametrize("target", ["demo", "test", "test-slow", "lint", "type"])
def test_targets_install_when_nothing_is_installed(checkout: Path, target: str) -> None:
    assert "pip install -r requirements.lock" in make(checkout, "-n", target).stdout


@pytest.mark.parametrize("target", ["install", "demo", "test"])
def test_an_up_to_date_environment_is_left_alone(checkout: Path, target: str) -> None:
    stamped(checkout, age=-5)
    assert "pip install" not in make(checkout, "-n", target).stdout


def test_a_changed_lock_file_is_installed_into_the_same_environment(checkout: Path) -> None:
    stamped(checkout, age=5)
    done = make(checkout, "-n", "test").stdout
    assert "pip install -r requirements.lock" in done
    assert "--clear" not in done


def test_an_interrupted_installation_is_made_anew(checkout: Path) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    assert "-m venv --clear .venv" in make(checkout, "-n", "install").stdout


def test_a_failed_installation_leaves_no_stamp(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text("no such requirement line\n", encoding="utf-8")
    done = make(checkout, "install")
    assert done.returncode != 0
    assert (checkout / ".venv" / "bin").is_dir()
    assert not (checkout / ".venv" / ".installed").exists()


def test_an_old_python_is_refused_with_a_way_out(checkout: Path) -> None:
    old = checkout / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    done = make(checkout, "install", f"PYTHON={old}")
    assert done.returncode == 2
    assert "error: Python 3.11 or newer is needed: make PYTHON=" in done.stderr
    assert not (checkout / ".venv").exists()


def test_clean_keeps_runs_and_environment(checkout: Path) -> None:
    for name in ("runs/train/1/model.bin", ".venv/x", "src/pkg/__pycache__/a.pyc", "build/x", ".mypy_cache/x"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    assert make(checkout, "clean").returncode == 0
    left = {str(path.relative_to(checkout)) for path in checkout.rglob("*") if path.is_file()}
    assert left == {"Makefile", "requirements.lock", "pyproject.toml", "runs/train/1/model.bin", ".venv/x"}


def test_bench_says_so_when_there_is_nothing_to_run(checkout: Path) -> None:
    stamped(checkout, age=-5)
    done = make(checkout, "bench")
    assert done.returncode == 0
    assert "no benchmark" in done.stdout


def test_the_lock_pins_every_package_exactly_and_names_no_place() -> None:
    lines = [line for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert lines[0].startswith("torch==")
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line.split("  #")[0]) for line in lines)
    names = {line.split("==")[0].lower() for line in lines}
    assert {"hatchling", "editables", "pytest"} <= names
    assert "skillfit" not in names
