"""Queries and trigger cases at the door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skillfit.data.queries import read_queries, read_triggers
from skillfit.data.query_sets import join_queries, without_unknown
from skillfit.errors import UserError
from skillfit.types import Query


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_fields_by_name_and_groups(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "q.jsonl",
        {"text": "one", "query_id": "q1", "required": ["a", "b", "a"], "split": "test", "groups": {"domain": "x"}},
        {"id": 2, "query": "two", "skill_ids": [], "difficulty": "hard", "scored": True},
        {"task_id": "q3", "instruction_text": "three", "other": [1]},
        {"_id": "q4", "text": "four", "required": ["a"], "scored": False},
    )
    table = read_queries(file)
    assert table.queries == (
        Query("q1", "one", {"split": "test", "domain": "x"}),
        Query("2", "two", {"difficulty": "hard"}),
        Query("q3", "three"),
        Query("q4", "four"),
    )
    assert table.required == {"q1": frozenset("ab"), "2": frozenset()}  # none is told from unjudged
    assert table.unscored == {"q4"}
    assert join_queries([("f", table, "error")], {"a", "b"})[1] == {
        "queries": 4, "judged": 2, "needing_no_skill": 1, "unscored": 1, "unjudged": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"query_id": "q", "text": None}, "text"),
        ({"query_id": "q", "text": "  "}, "text"),
        ({"query_id": "q"}, "text"),
        ({"text": "t"}, "query_id"),
        ({"query_id": "q", "text": "t", "required": "a"}, "required"),
        ({"query_id": "q", "text": "t", "required": ["a", 1]}, "required"),
        ({"query_id": "q", "text": "t", "required": None}, "required"),
        ({"query_id": "q", "text": "t", "scored": "no"}, "scored"),
        ({"query_id": "q", "text": "t", "groups": ["x"]}, "groups"),
        ({"query_id": "q", "text": "t", "groups": {"split": "a"}, "split": "b"}, "split"),
        ({"query_id": "q", "text": "t", "domain": {"a": 1}}, "domain"),
    ],
)
def test_a_bad_field_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], field: str) -> None:  # UP-03, UP-09
    file = lines(tmp_path / "q.jsonl", {"query_id": "first", "text": "x"}, "", row)
    with pytest.raises(UserError) as error:
        read_queries(file)
    assert str(error.value).startswith(f"{file}:3: {field}")


@pytest.mark.parametrize("line", ['{"query_id": "s17", "text": ', "[1,2]"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:  # UP-09
    file = tmp_path / "q.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"query_id": "a", "text": "x"}\r\n\r\n' + line.encode())
    with pytest.raises(UserError, match=r"q\.jsonl:3"):
        read_queries(file)


def test_a_repeated_id_names_both_lines(tmp_path: Path) -> None:
    row = {"query_id": "q", "text": "x"}
    file = lines(tmp_path / "q.jsonl", row, row)
    with pytest.raises(UserError) as error:
        read_queries(file)
    assert f"{file}:2" in str(error.value)
    assert f"{file}:1" in str(error.value)


def test_a_folder_of_files(tmp_path: Path) -> None:
    lines(tmp_path / "b.jsonl", {"query_id": "2", "text": "x"})
    lines(tmp_path / "a.jsonl", {"query_id": "1", "text": "x"})
    assert [query.query_id for query in read_queries(tmp_path).queries] == ["1", "2"]
    for empty in (tmp_path / "none", tmp_path / "empty.jsonl"):
        empty.mkdir() if empty.suffix == "" else empty.touch()
        with pytest.raises(UserError):
            read_queries(empty)


def trigger(query_id: str, text: str, skill: str, label: Any = 1, **more: Any) -> dict[str, Any]:
    row = {"query_id": query_id, "text": text, "skill_id": skill, "label": label, "kind": "trigger_eval"}
    return row | {"templated": False, "names_skill": False, "source": "o/r:evals.json"} | more


def test_triggers_become_queries(tmp_path: Path) -> None:
    rows = [
        trigger("t1", "do it", "a"),
        trigger("t2", "do it", "b", source="o/other:x.json"),
        trigger("t3", "not this", "a", 0),
        trigger("t4", "run a", "a", names_skill=True),
        trigger("t5", "run x", "a", templated=True),
        trigger("t6", "else", "gone"),
    ]
    for file in (lines(tmp_path / "t.jsonl", *rows), tmp_path / "t.json"):
        if file.suffix == ".json":
            file.write_text(json.dumps(rows))
        table = read_triggers(file, known={"a", "b"})
        assert table.queries == (Query("t1", "do it", {"kind": "trigger_eval"}),)
        assert table.required == {"t1": frozenset("ab")}
        assert table.counts == {
            "rows": 6, "merged_rows": 1, "negative": 1, "names_skill": 1, "templated": 1, "unknown_skill": 1,
        }  # fmt: skip
    every = read_triggers(tmp_path / "t.jsonl", clean=False)
    assert {query.query_id for query in every.queries} == {"t1", "t4", "t5", "t6"}


@pytest.mark.parametrize("label", [None, 2, "1", True, 0.5])
def test_labels_are_0_or_1(tmp_path: Path, label: Any) -> None:  # UP-42
    file = lines(tmp_path / "t.jsonl", trigger("t", "x", "a", label))
    with pytest.raises(UserError, match=r"t.jsonl:1: label"):
        read_triggers(file)


def test_real_triggers(skillfit_data: Path) -> None:
    counts = read_triggers(skillfit_data / "triggers" / "test.jsonl").counts
    assert counts["rows"] == 1430
    assert counts["negative"] == 161
    assert counts["rows"] - counts["negative"] - counts["templated"] - counts["names_skill"] == 704


def test_real_benchmark_queries(skillfit_data: Path) -> None:
    table = read_queries(skillfit_data / "skillsbench" / "queries.jsonl")
    assert (len(table.queries), len(table.unscored)) == (87, 12)
    assert {"domain", "difficulty", "task_type"} <= table.queries[0].groups.keys()


def test_unknown_ids_are_refused_or_dropped_and_counted(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "q.jsonl",
        {"query_id": "kept", "text": "x", "required": ["a", "gone"]},
        {"query_id": "lost", "text": "x", "required": ["gone"]},
        {"query_id": "none", "text": "x", "required": []},
    )
    table = read_queries(file)
    with pytest.raises(UserError, match="gone"):
        without_unknown(table, {"a"}, "f", "error")
    kept = without_unknown(table, {"a"}, "f", "drop")
    assert kept.required == {"kept": frozenset("a"), "none": frozenset()}
    assert kept.counts == {
        "unknown_skills_dropped": 1, "queries_without_known_skill": 1, "queries_with_fewer_skills": 1,
    }  # fmt: skip


def test_two_sources_cannot_share_a_query_id(tmp_path: Path) -> None:
    table = read_queries(lines(tmp_path / "q.jsonl", {"query_id": "q", "text": "x"}))
    with pytest.raises(UserError, match="is also in one"):
        join_queries([("one", table, "error"), ("two", table, "error")], set())
