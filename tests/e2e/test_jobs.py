"""The jobs as users run them: separate processes, their files, and the same results twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, cache: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, *command, f"cache='{cache}'"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def lexical(cache, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "lexical"
    done = run("evaluate.py", "retriever=lexical", f"hydra.run.dir='{folder}'", cache=cache)
    assert done.stdout.splitlines()[-1] == str(folder)
    return folder


def metrics(folder: Path, group: str = "all") -> dict[str, float]:
    rows = json.loads((folder / "metrics.json").read_text())["rows"]
    return {row["metric"]: row["value"] for row in rows if row["group"] == group}


def test_an_evaluation_leaves_everything_it_promises(lexical):
    names = {path.name for path in lexical.iterdir()}
    assert names >= {
        "metrics.json", "per_query.parquet", "run.trec", "predictions.json", "worst.json", "report.html",
        "config.json", "provenance.json", "run.json", "job.log",
    }  # fmt: skip
    found = json.loads((lexical / "metrics.json").read_text())
    assert set(found["rows"][0]) == {
        "suite", "benchmark", "system", "group", "metric", "value", "low", "high", "n",
    }  # fmt: skip
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 and row["n"] > 0 for row in found["rows"])
    groups = {row["group"] for row in found["rows"]}
    assert {"all", "single", "multi", "family=pdf-tables"} <= groups
    provenance = found["provenance"]
    assert provenance["data"]["corpus_hash"]
    assert provenance["versions"]["bm25s"]
    assert provenance["config"]["retriever"]["k1"] == 1.5
    assert provenance["counts"]["lexical-full"]["none"] == 18


def test_the_written_runs_score_the_same_when_read_back(lexical, cache, tmp_path):
    """Scoring somebody else's file: our own TREC run and prediction JSON, both without searching."""
    for name in ("run.trec", "predictions.json"):
        folder = tmp_path / name
        run("evaluate.py", f"run='{lexical / name}'", f"hydra.run.dir='{folder}'", cache=cache)
        assert metrics(folder) == pytest.approx(metrics(lexical), abs=1e-12)


def test_two_processes_give_identical_files(lexical, cache, tmp_path):
    run("evaluate.py", "retriever=lexical", f"hydra.run.dir='{tmp_path / 'again'}'", cache=cache)
    for name in ("run.trec", "predictions.json", "per_query.parquet", "worst.json"):
        assert (tmp_path / "again" / name).read_bytes() == (lexical / name).read_bytes()
    assert metrics(tmp_path / "again") == metrics(lexical)


@pytest.mark.slow
def test_training_twice_gives_identical_metrics_and_rankings(cache, tiny_encoder, tmp_path):
    for name in ("a", "b"):
        model = f"component.model='{tiny_encoder}'"
        train = ("train.py", "trainer.max_epochs=1", model, f"hydra.run.dir='{tmp_path / name}'")
        assert run(*train, cache=cache).stdout.splitlines()[-1] == str(tmp_path / name)
        tuned = f"retriever.model='{tmp_path / name / 'model'}'"
        folder = f"hydra.run.dir='{tmp_path / f'{name}-eval'}'"
        run("evaluate.py", "retriever=dense", tuned, folder, cache=tmp_path / f"cache-{name}")
    dev = [json.loads((tmp_path / name / "metrics.json").read_text())["rows"] for name in ("a", "b")]
    assert dev[0] == dev[1]
    for file in ("run.trec", "per_query.parquet"):
        assert (tmp_path / "a-eval" / file).read_bytes() == (tmp_path / "b-eval" / file).read_bytes()


def test_hybrid_and_dense_run_on_one_cache(cache, tiny_encoder, tmp_path):
    model = f"retriever.model='{tiny_encoder}'"
    run("evaluate.py", "retriever=dense", model, f"hydra.run.dir='{tmp_path / 'dense'}'", cache=cache)
    run("evaluate.py", "retriever=hybrid", model, f"hydra.run.dir='{tmp_path / 'hybrid'}'", cache=cache)
    systems = json.loads((tmp_path / "hybrid" / "provenance.json").read_text())["systems"]
    parts = systems["hybrid-full"]["parts"]
    assert parts["dense"]["embeddings"]["reused"] == 1
    assert parts["lexical"]["retriever"]["kind"] == "lexical"


def test_profile_sr_skips_what_the_run_does_not_answer(lexical, cache, tmp_path):
    predictions = json.loads((lexical / "predictions.json").read_text())
    kept = dict(list(predictions.items())[:100])
    (tmp_path / "some.json").write_text(json.dumps(kept))
    for profile in ("default", "sr"):
        folder = f"hydra.run.dir='{tmp_path / profile}'"
        run("evaluate.py", f"run='{tmp_path / 'some.json'}'", f"profile={profile}", folder, cache=cache)
    counts = {
        p: json.loads((tmp_path / p / "provenance.json").read_text())["counts"]["some"] for p in ("default", "sr")
    }
    assert counts["default"]["scored"] == 306
    assert counts["default"]["missing"] == counts["sr"]["missing"] > 0
    assert counts["sr"]["scored"] == 306 - counts["sr"]["missing"]
    assert metrics(tmp_path / "sr")["Hit@1"] > metrics(tmp_path / "default")["Hit@1"]
