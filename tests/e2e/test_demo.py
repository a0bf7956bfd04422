"""The README's first command: the whole line on the embedded data, offline, with the result the README claims."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_demo_shows_that_training_and_bodies_help(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    out = tmp_path / "a demo, with odd=characters"
    done = subprocess.run(
        [sys.executable, "-m", "skillfit.cli.main", "demo", f"out='{out}'"],
        cwd=ROOT,
        env=environment | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(out / "report" / "report.html")
    rows = json.loads((out / "report" / "comparison.json").read_text())["rows"]
    found = {row["system"]: row for row in rows if (row["group"], row["metric"]) == ("all", "nDCG@10")}
    tuned, names_only = found["dense-tuned"], found["dense-nd"]
    assert tuned["p_holm"] < 0.05
    assert tuned["difference_low"] > 0
    assert names_only["difference_high"] < 0
    assert "<script" not in (out / "report" / "report.html").read_text()
