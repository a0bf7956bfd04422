"""Queries and judgements of your own, in whatever form they come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillfit.data.asked import judgements_at, queries_at
from skillfit.data.importer import import_skills
from skillfit.data.named import FilesData
from skillfit.errors import UserError


def lines(path: Path, *rows: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def corpus(tmp_path) -> str:
    rows = [{"skill_id": f"s{i}", "name": f"s{i}", "description": "x", "body": "y"} for i in range(3)]
    return lines(tmp_path / "skills.jsonl", *rows)


@pytest.fixture
def beir(tmp_path) -> Path:
    folder = tmp_path / "beir"
    lines(folder / "corpus.jsonl", {"_id": "s0", "title": "t", "text": "x"}, {"_id": "s1", "title": "t", "text": "y"})
    lines(folder / "queries.jsonl", {"_id": "q1", "text": "one"})
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ts1\t2\n")
    return folder


def test_a_beir_folder_gives_queries_and_judgements(beir):
    assert [query.query_id for query in queries_at(str(beir)).queries] == ["q1"]
    for path in (beir, beir / "qrels", beir / "qrels" / "test.tsv"):
        assert judgements_at(str(path)) == {"q1": {"s1": 2}}


def test_of_several_files_one_must_be_named(beir):
    (beir / "qrels" / "dev.tsv").write_text("q1 0 s0 1\n")
    with pytest.raises(UserError, match=r"give one of: .*dev\.tsv.*test\.tsv"):
        judgements_at(str(beir))


def test_an_imported_folder_gives_both(beir, tmp_path):
    import_skills([str(beir)], tmp_path / "out")
    assert [query.text for query in queries_at(str(tmp_path / "out")).queries] == ["one"]
    assert judgements_at(str(tmp_path / "out")) == {"q1": {"s1": 2}}


def test_trigger_cases_are_known_by_their_fields(tmp_path):
    rows = [
        {"query_id": "t1", "text": "do it", "skill_id": "s1", "label": 1},
        {"query_id": "t2", "text": "do it", "skill_id": "s2", "label": 0},
    ]
    for name in ("cases.jsonl", "cases.json"):
        path = tmp_path / name
        if name.endswith("l"):
            lines(path, *rows)
        else:
            path.write_text(json.dumps(rows))
        assert queries_at(str(path)).required == {"t1": {"s1"}}
        assert judgements_at(str(path)) == {"t1": {"s1": 1, "s2": 0}}


def test_skillrouters_relevance_file(tmp_path):
    lines(tmp_path / "tasks.jsonl", {"task_id": "a", "instruction_text": "x"})
    entry = {"gt_skill_ids": ["g", "h"], "core_gt_ids": ["g"], "relevance": {"g": 3, "h": 3, "d": 1}}
    (tmp_path / "relevance.json").write_text(json.dumps({"a": entry}))
    assert judgements_at(str(tmp_path / "relevance.json")) == {"a": {"g": 3, "h": 3, "d": 1}}


def test_queries_that_the_data_keeps_out_of_scoring_stay_out(corpus, tmp_path):
    asked = lines(tmp_path / "q.jsonl", {"query_id": "a", "text": "x"}, {"query_id": "b", "text": "y", "scored": False})
    judged = tmp_path / "r.tsv"
    judged.write_text("a 0 s1 1\nb 0 s2 1\n")
    made = FilesData(corpus=corpus, queries=asked, qrels=str(judged)).load(tmp_path / "cache", unknown=None)
    assert made.qrels.required == {"a": {"s1"}}
    assert made.facts["unscored"] == 1
    assert made.facts["sizes"] == {"single": 1, "unjudged": 1}


@pytest.mark.parametrize("where", ["query_id", "required"])
def test_half_a_character_in_an_id_is_told_at_once(corpus, tmp_path, where):
    row = {"query_id": "a", "text": "x", "required": ["s1"]} | (
        {"query_id": "\ud800"} if where == "query_id" else {"required": ["\udfff"]}
    )
    asked = lines(tmp_path / "q.jsonl", row)
    with pytest.raises(UserError, match=r"q\.jsonl:1: id = .*lone surrogate"):
        queries_at(asked)


def test_home_is_expanded(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    lines(tmp_path / "q.jsonl", {"query_id": "a", "text": "x", "required": ["s1"]})
    made = FilesData(corpus="~/skills.jsonl", queries="~/q.jsonl").load(tmp_path / "cache", unknown=None)
    assert len(made.corpus) == 3
