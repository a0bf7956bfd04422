"""Queries at the door: JSON Lines with optional inline judgements, and trigger-evaluation cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillfit.errors import UserError
from skillfit.io.jsonl import field as text_field
from skillfit.io.jsonl import read_json, read_jsonl
from skillfit.io.qrels import as_column
from skillfit.types import Query

IDS = ("query_id", "_id", "id", "task_id")
TEXTS = ("text", "query", "instruction_text")
REQUIRED = ("required", "skill_ids")
AXES = ("split", "task_type", "source", "domain", "difficulty", "family", "kind")


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Queries with what their file says about the right skills.

    required: as in `types.Qrels`: a query that is absent is unjudged, one with an empty set needs no skill. unscored:
    queries that the data itself keeps out of scoring; they are never in `required`. counts: what was left out, by name.
    """

    queries: tuple[Query, ...] = ()
    required: Mapping[str, frozenset[str]] = field(default_factory=dict)
    grades: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unscored: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict)


def read_queries(path: Path | str) -> QuerySet:
    """Queries from a .jsonl(.gz) file or a folder of such files.

    Fields by name: `query_id` (or `_id`, `id`, `task_id`), `text` (or `query`, `instruction_text`), optionally
    `required` (or `skill_ids`), `scored`, `groups` and the axes in AXES. Raises UserError with `file:line` for a
    missing or blank field, a list of ids that is none, or a query id given twice.
    """
    places: dict[str, str] = {}
    queries: list[Query] = []
    required: dict[str, frozenset[str]] = {}
    unscored: set[str] = set()
    for file in query_files(Path(path)):
        for number, record in read_jsonl(file):
            place = f"{file}:{number}"
            query = _query(record, place)
            if query.query_id in places:
                raise UserError(place, "query_id", query.query_id, f"was given before, at {places[query.query_id]}")
            places[query.query_id] = place
            queries.append(query)
            skills = _required(record, place)
            if not _is_scored(record, place):
                unscored.add(query.query_id)
            elif skills is not None:
                required[query.query_id] = skills
    if not queries:
        raise UserError(path, fix='holds no query; expected lines like {"query_id": "q1", "text": "…"}')
    return QuerySet(tuple(queries), required, {}, frozenset(unscored))


def query_files(path: Path) -> list[Path]:
    """The .jsonl and .jsonl.gz files of a folder in order of name, or the file itself. Raises UserError for none."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith((".jsonl", ".jsonl.gz")) and file.is_file())
    if not files:
        raise UserError(path, fix="holds no .jsonl or .jsonl.gz file with queries")
    return files


def read_triggers(path: Path | str, *, clean: bool = True, known: Container[str] | None = None) -> QuerySet:
    """Trigger cases (query, skill, should it trigger) as queries: rows with label 1 and one text become one query.

    A row with label 0 whose text also has a skill that it should trigger grades its own skill 0 for that query.
    clean: leave out rows that are templated or name their skill. known: the ids of a corpus; rows about other skills
    are left out. What is left out is counted. A .json file holds a list, .jsonl(.gz) one object a line. Raises
    UserError with the place for a missing field or a label other than 0 and 1.
    """
    counts: Counter[str] = Counter()
    by_text: dict[str, Query] = {}
    required: dict[str, set[str]] = {}
    ids: dict[str, str] = {}
    refused: dict[str, set[str]] = {}
    for place, record in _trigger_rows(Path(path)):
        query_id, text = (
            as_column(text_field(record, ("query_id", "id"), place), place),
            text_field(record, TEXTS, place),
        )
        skill_id = as_column(text_field(record, ("skill_id",), place), place)
        if ids.setdefault(query_id, place) != place:
            raise UserError(place, "query_id", query_id, f"was given before, at {ids[query_id]}")
        counts["rows"] += 1
        left_out = _left_out(record, place, clean=clean) or ("unknown_skill" if _unknown(skill_id, known) else "")
        if left_out:
            counts[left_out] += 1
            if left_out == "negative" and not _unknown(skill_id, known):
                refused.setdefault(text, set()).add(skill_id)
            continue
        groups = _trigger_groups(record)
        query = by_text.setdefault(text, Query(query_id, text, groups))
        if query.query_id != query_id:
            counts["merged_rows"] += 1
            by_text[text] = replace(query, groups={k: v for k, v in query.groups.items() if groups.get(k) == v})
        required.setdefault(query.query_id, set()).add(skill_id)
    if not counts["rows"]:
        raise UserError(path, fix="holds no trigger case")
    found = {query_id: frozenset(skills) for query_id, skills in required.items()}
    asked = {query.query_id: refused.get(text, set()) - required[query.query_id] for text, query in by_text.items()}
    grades = {query_id: dict.fromkeys(sorted(skills), 0) for query_id, skills in asked.items() if skills}
    counts["explicit_negatives"] = sum(map(len, grades.values()))
    return QuerySet(tuple(by_text.values()), found, grades, counts={name: n for name, n in sorted(counts.items()) if n})


def groups_of(record: Mapping[str, Any], place: str) -> dict[str, str]:
    """The groups of a query: the `groups` object and the known axes beside it. Raises UserError if they disagree."""
    own = record.get("groups")
    if own is not None and not isinstance(own, dict):
        raise UserError(place, "groups", own, "expected an object that maps an axis to a value")
    groups: dict[str, str] = {}
    for axis, value in [*(own or {}).items(), *((axis, record.get(axis)) for axis in AXES)]:
        if value is None:
            continue
        if not isinstance(value, str | int | float):
            raise UserError(place, axis, value, "a group's value is one text")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if groups.setdefault(axis, text) != text:
            raise UserError(place, axis, text, f"contradicts {groups[axis]!r} under `groups`")
    return groups


def skill_list(value: Any, name: str, place: str) -> frozenset[str]:
    """A list of skill ids as a set. Raises UserError naming the field for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise UserError(place, name, value if value is not None else "null", "expected a list of skill ids")
    return frozenset(as_column(item, place) for item in value)


def _query(record: dict[str, Any], place: str) -> Query:
    query_id = as_column(text_field(record, IDS, place), place)
    return Query(query_id, text_field(record, TEXTS, place), groups_of(record, place))


def _required(record: Mapping[str, Any], place: str) -> frozenset[str] | None:
    name = next((name for name in REQUIRED if name in record), None)
    return skill_list(record[name], name, place) if name else None


def _is_scored(record: Mapping[str, Any], place: str) -> bool:
    return _truth(record, "scored", place, default=True)


def _truth(record: Mapping[str, Any], name: str, place: str, *, default: bool) -> bool:
    value = record.get(name, default)
    if not isinstance(value, bool):
        raise UserError(place, name, value, "use true or false")
    return value


def _left_out(record: Mapping[str, Any], place: str, *, clean: bool) -> str:
    label = record.get("label")
    if isinstance(label, bool) or label not in (0, 1):
        raise UserError(
            place, "label", "missing" if label is None else label, "use 1 (should trigger) or 0 (should not)"
        )
    if label == 0:
        return "negative"
    flags = ("templated", "names_skill") if clean else ()
    return next((name for name in flags if _truth(record, name, place, default=False)), "")


def _trigger_groups(record: Mapping[str, Any]) -> dict[str, str]:
    """`kind`, and of the `source` (`repository:path`) the repository: results are looked at by repository."""
    groups = {axis: str(record[axis]) for axis in ("source", "kind") if record.get(axis) is not None}
    if "source" in groups:
        groups["source"] = groups["source"].split(":", 1)[0]
    return groups


def _unknown(skill_id: str, known: Container[str] | None) -> bool:
    return known is not None and skill_id not in known


def _trigger_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix != ".json":
        for file in query_files(path):
            for number, record in read_jsonl(file):
                yield f"{file}:{number}", record
        return
    rows = read_json(path)
    if not isinstance(rows, list):
        raise UserError(path, fix="expected a list of trigger cases")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UserError(f"{path}: item {number}", fix=f"is a JSON {type(row).__name__}; an object is expected")
        yield f"{path}: item {number}", row
