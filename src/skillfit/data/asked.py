"""Queries and judgements at a path, in whatever form they come: files of their own, or a source that has them too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillfit.data.native import is_imported, open_imported
from skillfit.data.options import ImportOptions
from skillfit.data.queries import QuerySet, read_queries
from skillfit.data.sources import open_source
from skillfit.errors import UserError
from skillfit.io.qrels import read_qrels

JSON = (".json", ".jsonl", ".jsonl.gz")


def queries_at(path: str) -> QuerySet:
    """The queries of a JSON Lines file, an imported folder or any importable source that has queries.

    Raises UserError if there are none.
    """
    place = Path(path).expanduser()
    if is_imported(place):
        table = open_imported(place)[1]
    elif place.is_dir() or place.suffix.lower() == ".json":
        table = open_source(place, ImportOptions()).queries()
    else:
        table = _of_a_file(place)
    if not table.queries:
        raise UserError(path, fix="holds no queries; give JSON Lines with query_id and text")
    return table


def judgements_at(path: str) -> dict[str, dict[str, int]]:
    """query_id -> skill_id -> grade of a TREC or BEIR file, a folder with one such file, SkillRouter's relevance.json,
    or anything that `queries_at` takes; without grades of its own, a required skill has grade 1.

    Raises UserError if nothing is judged, or if a folder has several files to choose from.
    """
    place = Path(path).expanduser()
    if place.is_dir() and (files := _qrels_files(place)):
        if len(files) > 1:
            raise UserError(path, fix=f"holds several files of judgements, give one of: {', '.join(map(str, files))}")
        return read_qrels(files[0])
    if place.name == "relevance.json" and (place.parent / "tasks.jsonl").is_file():
        return _grades(open_source(place.parent, ImportOptions()).queries(), path)
    if place.is_dir() or place.name.lower().endswith(JSON):
        return _grades(queries_at(path), path)
    return read_qrels(place)


def _of_a_file(place: Path) -> QuerySet:
    """A file of trigger cases says so by its fields; any other JSON Lines file holds queries."""
    from skillfit.data.sources.query_files import TriggerSource

    if TriggerSource.fits(place):
        return TriggerSource(place, ImportOptions()).queries()
    return read_queries(place)


def _qrels_files(folder: Path) -> list[Path]:
    """The files of a `qrels` folder, or of the one in a BEIR folder; none where the folder is another source."""
    if is_imported(folder):
        return []
    inner = folder / "qrels"
    return (
        sorted((inner if inner.is_dir() else folder).glob("*.tsv")) if inner.is_dir() or folder.name == "qrels" else []
    )


def _grades(table: QuerySet, path: str) -> dict[str, dict[str, int]]:
    required = {query: dict.fromkeys(sorted(skills), 1) for query, skills in table.required.items() if skills}
    graded: Mapping[str, Mapping[str, int]] = {query: row for query, row in table.grades.items() if row}
    found = {**required, **{query: {**required.get(query, {}), **row} for query, row in graded.items()}}
    if not found:
        raise UserError(path, fix="judges no query")
    return found
