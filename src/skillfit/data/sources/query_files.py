"""Queries on their own, to be imported together with a source of skills."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillfit.data.queries import IDS, TEXTS, QuerySet, query_files, read_queries, read_triggers
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
        """The first line is a query."""
        record = first_record(path)
        return "query_id" in record and any(name in record for name in TEXTS) and "label" not in record

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
        """The first item is a trigger case."""
        record = first_record(path)
        return {"label", "skill_id"} <= record.keys() and any(name in record for name in (*IDS, *TEXTS))

    def queries(self) -> QuerySet:
        """The positives, rows with the same text merged."""
        return read_triggers(self.path, clean=self.options.clean)


def first_record(path: Path) -> dict[str, Any]:
    """The first object of a JSON or JSON Lines file, or of a folder's first such file; empty if there is none."""
    try:
        if path.suffix == ".json" and path.is_file():
            rows = read_json(path)
            return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        if path.is_dir() or path.name.endswith(SUFFIXES):
            return next((record for _, record in read_jsonl(query_files(path)[0])), {})
    except UserError:
        pass  # the format that takes the path will say what is wrong with it
    return {}
