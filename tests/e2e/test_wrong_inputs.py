"""Each wrong input ends with one clear message, a code other than 0, in under ten seconds, before any model loads."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SKILLS = [{"skill_id": f"x/{n}", "name": n, "description": f"does {n}", "body": f"body of {n}"} for n in ("a", "b")]


@pytest.fixture
def files(tmp_path) -> Path:
    """A small corpus with queries and qrels in which nothing is wrong."""
    lines = "".join(json.dumps(skill) + "\n" for skill in SKILLS)
    (tmp_path / "skills.jsonl").write_text(lines)
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q1", "text": "do a"}\n{"query_id": "q2", "text": "do b"}\n')
    (tmp_path / "qrels.tsv").write_text("q1\t0\tx/a\t1\nq2\t0\tx/b\t1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 x/a 1 0.5 tag\nq2 Q0 x/b 1 0.5 tag\n")
    return tmp_path


def evaluate(files: Path, *settings: str, retriever: str = "dense") -> tuple[int, str, float]:
    data = ["data=files", *(f"data.{key}='{files / name}'" for key, name in (
        ("corpus", "skills.jsonl"), ("queries", "queries.jsonl"), ("qrels", "qrels.tsv")
    ))]  # fmt: skip
    command = [
        "evaluate.py",
        f"retriever={retriever}",
        *data,
        f"cache='{files / 'cache'}'",
        f"hydra.run.dir='{files / 'run'}'",
    ]
    started = time.monotonic()
    done = subprocess.run([sys.executable, *command, *settings], cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr, time.monotonic() - started


def refused(files: Path, *settings: str, retriever: str = "dense") -> str:
    code, stderr, seconds = evaluate(files, *settings, retriever=retriever)
    assert code == 2, stderr
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "Traceback" not in stderr
    assert seconds < 10
    return errors[0]


def test_nothing_is_wrong_with_the_files_themselves(files):
    code, stderr, _ = evaluate(files, retriever="lexical")
    assert code == 0, stderr


def test_a_missing_file_is_named(files):
    assert "nowhere.jsonl" in refused(files, f"data.queries='{files / 'nowhere.jsonl'}'")


def test_an_empty_corpus(files):
    (files / "skills.jsonl").write_text("")
    message = refused(files)
    assert "skills.jsonl" in message


def test_a_corpus_in_which_nothing_can_be_read(files):
    (files / "skills.jsonl").write_text('{"skill_id": "x/a"\n')
    assert "skills.jsonl" in refused(files)


def test_qrels_that_name_unknown_skills(files):
    (files / "qrels.tsv").write_text("q1\t0\tx/a\t1\nq1\t0\tx/nope\t1\nq2\t0\tx/b\t1\n")
    message = refused(files)
    assert "x/nope" in message
    assert "qrels.unknown=drop" in message
    # the refused run keeps its folder, so the next one gets another
    code, stderr, _ = evaluate(files, "qrels.unknown=drop", f"hydra.run.dir='{files / 'again'}'", retriever="lexical")
    assert code == 0, stderr
    data = json.loads((files / "again" / "provenance.json").read_text())["data"]
    assert data["unknown_skills_dropped"] == 1


def test_a_query_without_text(files):
    (files / "queries.jsonl").write_text('{"query_id": "q1", "text": "do a"}\n{"query_id": "q2"}\n')
    message = refused(files)
    assert "queries.jsonl:2" in message
    assert "text" in message


@pytest.mark.parametrize("score", ["nan", "inf", "high"])
def test_a_run_file_with_a_score_that_is_no_number(files, score):
    (files / "run.trec").write_text(f"q1 Q0 x/a 1 {score} tag\n")
    message = refused(files, f"run='{files / 'run.trec'}'")
    assert "run.trec:1" in message
    assert "score" in message


def test_a_wrong_grade_names_its_line(files):
    (files / "qrels.tsv").write_text("q1\t0\tx/a\t0.5\n")
    assert "qrels.tsv:1" in refused(files)


def test_a_model_folder_that_is_not_there(files):
    assert "no such folder" in refused(files, "retriever.model=./models/typo")
