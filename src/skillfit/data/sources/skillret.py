"""SkillRet's three tables, skills, queries and qrels, each with splits (arXiv 2605.05726), as JSON Lines or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillfit.data.queries import TEXTS, QuerySet, groups_of
from skillfit.data.records import skill_from_record
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.jsonl import hash_files, skills_in
from skillfit.data.sources.tables import table_rows
from skillfit.errors import UserError
from skillfit.io.jsonl import field, read_jsonl
from skillfit.io.qrels import as_column, parse_grade, required_from
from skillfit.types import Query

TABLES = ("skills", "queries", "qrels")
SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")
DEFAULT_SPLIT = "test"  # the pools of the splits are disjoint, and published numbers are of the test split


class SkillRetSource(Source):
    """`<table>/<split>*` below the folder or its `data/`, or `<table>_<split>*` in it; split=all joins the splits."""

    name = "skillret"
    looks_for = "skills, queries and qrels, each a folder of <split>.jsonl or <split>*.parquet"
    precedence = 35
    needs_folder = True

    @classmethod
    def fits(cls, path: Path) -> bool:
        """All three tables are there."""
        return path.is_dir() and all(_files(path, table) for table in TABLES)

    def items(self) -> Iterator[Found]:
        """One item a row of the skills."""
        for split, file in self._chosen("skills"):
            for item in self._skills(file, f"skills/{file.name}"):
                skill = item.skill
                yield replace(item, skill=skill and replace(skill, extra={**skill.extra, "split": split}))

    def _skills(self, file: Path, name: str) -> Iterator[Found]:
        if file.suffix == ".parquet":
            return (skill_from_record(row, f"{name}:{number}") for number, row in table_rows(file))
        return skills_in(file, name, self.options.max_bytes)

    def queries(self) -> QuerySet:
        """The queries of the split; what the qrels say counts, not the list inside the query."""
        places: dict[str, str] = {}
        queries: list[Query] = []
        for split, file in self._chosen("queries"):
            for place, row in _rows(file):
                query_id = as_column(field(row, ("id", "query_id"), place), place)
                if places.setdefault(query_id, place) != place:
                    raise UserError(place, "id", query_id, f"was given before, at {places[query_id]}")
                queries.append(Query(query_id, field(row, TEXTS, place), {**groups_of(row, place), "split": split}))
        grades: dict[str, dict[str, int]] = {}
        for _, file in self._chosen("qrels"):
            for place, row in _rows(file):
                query_id, skill_id = (
                    field(row, ("query_id", "query-id"), place),
                    field(row, ("skill_id", "corpus-id"), place),
                )
                value = next((row[name] for name in ("relevance", "score") if row.get(name) is not None), 1)
                grades.setdefault(query_id, {})[skill_id] = parse_grade(value, place)
        graded = any(grade > 1 for row in grades.values() for grade in row.values())
        return QuerySet(tuple(queries), required_from(grades), grades if graded else {})

    def fingerprint(self) -> str:
        """The files of the chosen split."""
        return hash_files([file for table in TABLES for _, file in self._chosen(table)])

    def _chosen(self, table: str) -> list[tuple[str, Path]]:
        files = _files(self.path, table)
        there = sorted({split for split, _ in files})
        wanted = self.options.split or (DEFAULT_SPLIT if DEFAULT_SPLIT in there else "all")
        if wanted != "all" and wanted not in there:
            raise UserError(self.path, f"{table}: split", wanted, f"is not there; splits there are: {', '.join(there)}")
        return [(split, file) for split, file in files if wanted in ("all", split)]


def _files(path: Path, table: str) -> list[tuple[str, Path]]:
    """(split, file) of a table, in order of name."""
    found: list[tuple[str, Path]] = []
    for folder in (path, path / "data"):
        inside = sorted((folder / table).iterdir()) if (folder / table).is_dir() else []
        beside = sorted(folder.glob(f"{table}[-_.]*")) if folder.is_dir() else []
        found += [(_split(file.name), file) for file in inside]
        found += [(_split(file.name[len(table) + 1 :]), file) for file in beside]
    return [(split, file) for split, file in found if file.name.endswith(SUFFIXES) and file.is_file()]


def _split(name: str) -> str:
    """`test` of test.jsonl and of test-00000-of-00002.parquet."""
    return name.split(".", 1)[0].split("-", 1)[0]


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = table_rows(file) if file.suffix == ".parquet" else read_jsonl(file)
    for number, row in rows:
        yield f"{file}:{number}", row
