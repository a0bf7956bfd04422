"""`skillfit mine` as a user runs it: the folder it leaves, what it tells, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from skillfit.data.named import MiniData
from skillfit.data.negatives import read_mined
from skillfit.io import read_json, read_jsonl
from skillfit.io.runs import read_run, write_trec_run
from skillfit.types import Run


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def benchmark(cache):
    return MiniData().load_all(cache, unknown=None)


@pytest.fixture
def mine(tmp_path: Path, cache: Path):
    """Run the command in an empty folder; PYTHONHASHSEED as given."""

    def run(*arguments: str, hash_seed: str = "0", code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "skillfit.cli.main", "mine", *arguments],
            cwd=tmp_path,
            env=os.environ | {"SKILLFIT_CACHE": str(cache), "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def run_file(benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over all train queries: their required skills first, then the pool by id."""
    scores = {}
    for query in benchmark.split("train").queries:
        required = sorted(benchmark.qrels.required[query.query_id])
        others = [skill for skill in benchmark.corpus.ids if skill not in required][:80]
        scores[query.query_id] = [(skill, 100.0 - i) for i, skill in enumerate(required + others)]
    file = tmp_path_factory.mktemp("runs") / "theirs.trec"
    write_trec_run(file, Run.from_scores(scores), tag="theirs")
    return file


def test_the_skillrouter_mix_from_a_file_and_a_search(mine, run_file, benchmark, tmp_path):
    done = mine(f"runs.semantic={run_file}", "out=mined", "seed=3", "categories.clusters=6", hash_seed="1")
    assert done.stdout == "mined\n"
    assert "the cosine layer is off" in done.stderr
    mined = read_mined(tmp_path / "mined", benchmark.corpus.content_hash, known=benchmark.corpus)
    train = benchmark.split("train")
    asked = [query.query_id for query in train.queries if train.qrels.required.get(query.query_id)]
    assert list(mined) == asked
    for _, row in read_jsonl(tmp_path / "mined" / "negatives.jsonl"):
        kinds = Counter(negative["kind"] for negative in row["negatives"])
        assert kinds == {"semantic": 4, "lexical": 3, "same_category": 2, "other_category": 1}
        assert not {n["skill_id"] for n in row["negatives"]} & train.qrels.required[row["query_id"]]
    manifest = read_json(tmp_path / "mined" / "manifest.json")
    assert manifest["corpus_hash"] == benchmark.corpus.content_hash
    assert manifest["queries_hash"] == benchmark.facts["queries_hash"]
    assert manifest["runs"]["semantic"]["run_file"] == run_file.name
    assert manifest["runs"]["lexical"]["searched"]["retriever"]["kind"] == "lexical"
    queries = manifest["counts"]["queries"]
    assert queries["input"] == len(train.queries) == queries["needing_no_skill"] + queries["unjudged"] + len(asked)
    assert queries["mined"] == len(asked) == queries["kept"] + queries["short"] + queries["dropped"]
    first = (tmp_path / "mined" / "negatives.jsonl").read_bytes()  # PYTHONHASHSEED=1
    mine(f"runs.semantic={run_file}", "out=again", "seed=3", "categories.clusters=6", hash_seed="2")
    assert (tmp_path / "again" / "negatives.jsonl").read_bytes() == first


def test_the_skillret_window_of_a_further_run(mine, run_file, benchmark, tmp_path):
    kinds = "{far: {count: 7, run: theirs, window: [21, 60]}}"
    mine(
        "mix=skillret", "~mix.kinds.semantic", f"+mix.kinds={kinds}", f"+runs.theirs={run_file}", "out=m", "split=null"
    )
    run = read_run(run_file)
    rows = [row for _, row in read_jsonl(tmp_path / "m" / "negatives.jsonl")]
    counts = read_json(tmp_path / "m" / "manifest.json")["counts"]
    assert counts["queries"]["input"] == len(benchmark.queries)
    assert counts["queries"]["empty"] == counts["kinds"]["far"]["queries_unanswered"] > 0  # the run is of train alone
    for row in rows:
        ranked = run.ranked(row["query_id"])
        assert [n["skill_id"] for n in row["negatives"]] == list(ranked[20:27])
        assert [n["rank"] for n in row["negatives"]] == list(range(21, 28))[: len(row["negatives"])]


def test_a_dense_search_gives_vectors_for_the_filter_and_the_clusters(mine, tiny_encoder, tmp_path):
    mine("view=nd", f"encoder.model={tiny_encoder}", "filter.cosine=0.9", "categories.by=clusters", "out=mined")
    manifest = read_json(tmp_path / "mined" / "manifest.json")
    assert manifest["filter"]["layers"] == ["copies", "same_name", "trigrams", "cosine"]
    assert manifest["categories"]["of"] == "vectors"
    assert manifest["counts"]["layers"]["cosine"]["removed"] > 0
    assert manifest["runs"]["semantic"]["searched"]["retriever"]["model"] == str(tiny_encoder)


@pytest.mark.slow
def test_vectors_without_a_dense_search(mine, tiny_encoder, tmp_path):
    mine("mix=random", f"encoder.model={tiny_encoder}", "vectors=always", "out=mined")
    manifest = read_json(tmp_path / "mined" / "manifest.json")
    assert (manifest["runs"], manifest["filter"]["layers"][-1]) == ({}, "cosine")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["out=m", "mix=skilret"], "did you mean skillret"),
        (["mix=random"], "out is missing"),
        (["out=m", "mix=random", "filter.trigrams=2"], "filter.trigrams = 2"),
        (["out=m", "mix=random", "mix.kinds.random.count=-1"], "mix.kinds.random.count = -1"),
        (["out=m", "mix=skillret", "mix.kinds.semantic.window=[9,3]"], "mix.kinds.semantic.window = [9, 3]"),
        (["out=m", "mix=skillret", "semantic.depth=50"], "semantic.depth = 50: is less than rank 60"),
        (["out=m", "mix=random", "runs.lexical=x.trec"], "runs.lexical = 'x.trec': the mix takes nothing from it"),
        (["out=m", "+mix.kinds.late.count=2"], "runs.late: the mix takes from it: add +runs.late=FILE"),
        (["out=m", "mix=random", "short=fill"], "short = 'fill': known: drop, fewer, pad"),
        (["out=m", "mix=random", "split=trian"], "split = 'trian': holds no query"),
        (["out=m", "mix=random", "+runs.late=3"], "runs.late = 3: expected text"),
        (["out=m", "mix=random", "categories.by=topic"], "categories.by = 'topic'"),
        (["out=.", "mix=random"], "not an empty folder"),
        (["out=m", "runs.semantic=no.trec"], "no.trec: no such file"),
    ],
)
def test_a_wrong_command_is_told_in_one_line(mine, arguments, told, tmp_path):
    (tmp_path / "theirs").write_text("kept")
    done = mine(*arguments, code=2)
    assert done.stdout == ""
    assert told in done.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("train-1 Q0 nobody 1 3.0 x", "none of them is a query of this benchmark"),
        ("QUERY Q0 nobody 1 3.0 x", "'nobody': is not in the corpus"),
        ("QUERY Q0 1 3.0 x", "theirs.trec:1"),
    ],
)
def test_a_wrong_run_is_told_in_one_line(mine, benchmark, tmp_path, line, told):
    query = benchmark.split("train").queries[0].query_id
    (tmp_path / "theirs.trec").write_text(line.replace("QUERY", query) + "\n")
    done = mine("mix=skillret", "runs.semantic=theirs.trec", "out=m", code=2)
    assert told in done.stderr.splitlines()[-1]
    assert json.dumps(done.stdout) == '""'
    assert not (tmp_path / "m").exists()
