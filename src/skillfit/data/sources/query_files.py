"""Queries on their own, to be imported together with a source of skills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillfit.data.queries import TEXTS, QuerySet, query_files, read_queries, read_triggers
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.jsonl import SUFFIXES, hash_files
from skillfit.errors import UserError
from skillfit.io.jsonl import read_json, read_jsonl


class QueryFileSource(Source):
    """JSON Lines of queries; it has no skills."""

    name = "queries"
    looks_for = "a .jsonl file whose lines have query_id and text"
    precedence = 50

    @classmethod
    def fits(cls, path: Path) -> bool:
        """The first line of each file is a query."""
        records = first_records(path)
        return bool(records) and all("query_id" in r and not r.keys().isdisjoint(TEXTS) for r in records)

    def items(self) -> Iterator[Found]:
        """No skills."""
        yield from ()

    def queries(self) -> QuerySet:
        """All of them."""
        return read_queries(self.path)

    def fingerprint(self) -> str:
        """The files' names and content."""
        return hash_files(query_files(self.path))


class TriggerSource(QueryFileSource):
    """Trigger-evaluation cases: text, skill_id and label; about skills that other sources bring."""

    name = "triggers"
    looks_for = "a .jsonl or .json file whose items have text, skill_id and label"
    precedence = 40
    unknown = "drop"

    @classmethod
    def fits(cls, path: Path) -> bool:
        """The first item of each file is a trigger case."""
        records = first_records(path)
        return bool(records) and all(
            {"label", "skill_id"} <= r.keys() and not r.keys().isdisjoint(TEXTS) for r in records
        )

    def queries(self) -> QuerySet:
        """The positives, rows with the same text merged."""
        return read_triggers(self.path, clean=self.options.clean)


def first_records(path: Path) -> list[dict[str, Any]]:
    """The first object of a JSON or JSON Lines file, or of each such file of a folder; empty if one has none."""
    try:
        if path.suffix == ".json" and path.is_file():
            rows = read_json(path)
            return rows[:1] if isinstance(rows, list) and isinstance(rows[0] if rows else None, dict) else []
        if path.is_dir() or path.name.endswith(SUFFIXES):
            return [next(record for _, record in read_jsonl(file)) for file in query_files(path)]
    except (UserError, StopIteration):
        pass  # the format that takes the path will say what is wrong with it
    return []
