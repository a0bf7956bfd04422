"""Training on two processes is training on one with the whole batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillfit.models.bi_encoder import BiEncoder

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def train(folder: Path, model: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "train.py", f"component.model={model}", "view=nd", "component.dropout=0.0",
        "component.learning_rate=1e-3", f"cache={folder.parent / 'cache'}", f"hydra.run.dir={folder}", *settings,
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=600
    )


@pytest.mark.parametrize("cached", ["false", "true"])
def test_up07_up24_two_processes_give_the_model_and_metrics_of_one(tiny_encoder, tmp_path, cached):
    # 349 pairs: the last batch of an epoch is uneven on two processes (3 and 2 rows).
    shared = ["trainer.max_epochs=2", f"component.cached={cached}", "component.chunk_tokens=200"]
    one = train(tmp_path / "one", tiny_encoder, "trainer.devices=1", "component.batch_size=8", *shared)
    two = train(tmp_path / "two", tiny_encoder, "trainer.devices=2", "component.batch_size=4", *shared)
    for done, name in ((one, "one"), (two, "two")):
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [str(tmp_path / name)]
    weights = [BiEncoder.load(str(tmp_path / name / "model")).model.state_dict() for name in ("one", "two")]
    for name, tensor in weights[0].items():
        assert float((tensor - weights[1][name]).abs().max()) < 1e-4, name
    rows = [json.loads((tmp_path / name / "metrics.json").read_text())["rows"] for name in ("one", "two")]
    assert [(row["metric"], row["system"], row["n"]) for row in rows[0]] == [
        (row["metric"], row["system"], row["n"]) for row in rows[1]
    ]
    assert [row["value"] for row in rows[1]] == pytest.approx([row["value"] for row in rows[0]], abs=2e-3)
    assert "at most 8 candidates a query: 8 positives of the batch and 0 mined, gathered over processes" in two.stderr
    state = json.loads((tmp_path / "two" / "run.json").read_text())
    assert state["status"] == "finished"
