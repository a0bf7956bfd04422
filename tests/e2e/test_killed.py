"""SIGKILL at any moment of encoding or training leaves nothing that a later run trusts."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def kill_when(process: subprocess.Popen[str], ready, *, limit: float = 120.0) -> None:
    """Wait for `ready()` and kill the whole process group at once."""
    deadline = time.monotonic() + limit
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()[1]
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def many_skills(tmp_path_factory) -> Path:
    """2,300 skills, five shards of embeddings, with two queries."""
    folder = tmp_path_factory.mktemp("many")
    rng = random.Random(0)
    words = [line.strip() for line in (ROOT / "docs" / "mini.md").read_text().split() if line.isalpha()]
    with (folder / "skills.jsonl").open("w") as handle:
        for number in range(2_300):
            texts = {"name": f"skill-{number}", "description": " ".join(rng.choices(words, k=20))}
            record = {"skill_id": f"x/{number:04d}", **texts, "body": " ".join(rng.choices(words, k=120))}
            handle.write(json.dumps(record) + "\n")
    rows = [{"query_id": f"q{i}", "text": " ".join(rng.choices(words, k=8)), "required": [f"x/000{i}"]} for i in (1, 2)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def encode(data: Path, model: Path, cache: Path, run: Path) -> list[str]:
    files = [f"data.corpus={data / 'skills.jsonl'}", f"data.queries={data / 'queries.jsonl'}"]
    return ["evaluate.py", "data=files", *files, "retriever=dense", f"retriever.model={model}", f"cache={cache}",
            f"hydra.run.dir={run}"]  # fmt: skip


@pytest.mark.parametrize("shards", [0, 1, 3])
def test_a_killed_encoding_resumes_to_the_same_rankings(many_skills, tiny_encoder, tmp_path, shards):
    def files() -> list[Path]:
        return list((tmp_path / "cache").glob("embeddings/*/*"))

    killed = start(*encode(many_skills, tiny_encoder, tmp_path / "cache", tmp_path / "killed"))
    kill_when(killed, lambda: len(files()) > shards)
    assert json.loads((tmp_path / "killed" / "run.json").read_text())["status"] == "running"
    assert not (tmp_path / "killed" / "metrics.json").exists()
    for name, cache in (("resumed", tmp_path / "cache"), ("fresh", tmp_path / "other-cache")):
        done = start(*encode(many_skills, tiny_encoder, cache, tmp_path / name))
        assert done.wait() == 0, done.communicate()[1]
    assert (tmp_path / "resumed" / "run.trec").read_bytes() == (tmp_path / "fresh" / "run.trec").read_bytes()
    reused = [
        json.loads((tmp_path / name / "provenance.json").read_text())["systems"]["dense-full"]["embeddings"]["reused"]
        for name in ("resumed", "fresh")
    ]
    assert reused[0] >= shards
    assert reused[1] == 0


def killed_training(moment: str, command: list[str], run: Path) -> None:
    if moment == "while exporting":  # a tiny model is written faster than anybody can watch, so it kills itself
        process = start("tests/e2e/killed_export.py", *command)
        assert process.wait() == -signal.SIGKILL, process.communicate()[1]
        assert any(run.glob(".model*"))
        return
    ready = {"before the first epoch": run / "run.json", "after an epoch": run / "checkpoints" / "best.ckpt"}[moment]
    kill_when(start("train.py", *command), ready.exists)


@pytest.mark.parametrize("moment", ["before the first epoch", "after an epoch", "while exporting"])
def test_a_killed_training_leaves_no_model(tiny_encoder, tmp_path, moment):
    run = tmp_path / "run"
    command = [
        f"component.model={tiny_encoder}", "trainer.max_epochs=4", f"cache={tmp_path / 'cache'}",
        f"hydra.run.dir={run}",
    ]  # fmt: skip
    killed_training(moment, command, run)
    assert json.loads((run / "run.json").read_text())["status"] == "running"
    assert not (run / "model").exists()
    again = start("train.py", *command)
    assert again.wait() == 2
    assert "hydra.run.dir" in again.communicate()[1]
    evaluated = start(
        "evaluate.py", "retriever=dense", f"retriever.model={run / 'model'}", f"hydra.run.dir={tmp_path / 'e'}"
    )
    assert evaluated.wait() == 2
