"""The encoding benchmark, at its smallest."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "encode.py"
SHORT = ["--documents", "8", "--repeats", "1"]


def check(output: str) -> None:
    lines = output.splitlines()
    found = re.fullmatch(r"ratio=(\d+\.\d\d) cosine=(\d\.\d{5})", lines[-1])
    assert found
    assert float(found[1]) > 0
    assert 0.999 <= float(found[2]) <= 1.00001
    [float32] = [line for line in lines if "skillfit float32" in line]
    assert float(float32.rsplit(" ", 1)[1]) > 0.99999
    assert sum("docs/s" in line and "GB" in line for line in lines) == 3


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("benchmark_encode", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmark_encode", module)
    spec.loader.exec_module(module)
    return module


def test_a_short_run_ends_with_ratio_and_cosine(benchmark, monkeypatch, capsys):
    """All sides in this process: loading the libraries three times is most of the time."""

    def run(side: str, folder: Path, repeat: int) -> object:
        benchmark.measure(side, folder, repeat)
        return benchmark.Result(**benchmark.json.loads((folder / f"{side}.{repeat}.json").read_text()))

    monkeypatch.delenv("SKILLFIT_DATA", raising=False)
    monkeypatch.setattr(benchmark, "run", run)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *SHORT])
    benchmark.main()
    check(capsys.readouterr().out)


@pytest.mark.slow
def test_the_command_measures_each_side_in_its_own_process():
    environment = {name: value for name, value in os.environ.items() if name != "SKILLFIT_DATA"}
    done = subprocess.run([sys.executable, str(SCRIPT), *SHORT], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    check(done.stdout)
