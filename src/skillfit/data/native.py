"""The imported folder: what an import leaves, and the only thing that later stages read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillfit.data.corpus import Corpus
from skillfit.data.queries import QuerySet, read_queries
from skillfit.errors import UserError
from skillfit.io.files import hash_file
from skillfit.io.jsonl import read_json, write_json, write_jsonl
from skillfit.io.qrels import read_qrels, write_qrels
from skillfit.types import Qrels, Query

FORMAT, FORMAT_VERSION = "skillfit-import", 1
MANIFEST = "manifest.json"
CORPUS, QUERIES, QRELS, GRADES = "corpus.arrow", "queries.jsonl", "qrels.tsv", "grades.tsv"
REPORT = "import_report.jsonl"


def is_imported(path: Path | str) -> bool:
    """Whether a folder has a manifest of this format; it may still be damaged."""
    file = Path(path) / MANIFEST
    try:
        return file.is_file() and read_json(file).get("format") == FORMAT
    except (UserError, AttributeError):
        return False


def write_queries(folder: Path, table: QuerySet) -> None:
    """Write `queries.jsonl`, and the judgements a second time as TREC files for other programs."""
    if table.queries:
        write_jsonl(folder / QUERIES, (_query_row(query, table) for query in table.queries))
    pairs = {query: dict.fromkeys(skills, 1) for query, skills in table.required.items() if skills}
    if pairs:
        write_qrels(folder / QRELS, pairs)
    grades = {query: row for query, row in table.grades.items() if row}
    if grades:
        write_qrels(folder / GRADES, grades)


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `manifest.json` with the size and hash of every file in the folder. It is written last."""
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": hash_file(file)}
        for file in sorted(folder.iterdir())
        if file.name != MANIFEST
    }
    write_json(folder / MANIFEST, {"format": FORMAT, "format_version": FORMAT_VERSION, **facts, "files": files})


def read_manifest(folder: Path | str) -> dict[str, Any]:
    """The manifest of an imported folder whose files all are as it says.

    Raises UserError if there is none, its version is another, or a file is missing, changed or added.
    """
    root, again = Path(folder), "import the source again"
    if not root.is_dir():
        raise UserError(folder, fix="no such folder; check the path")
    file = root / MANIFEST
    if not file.is_file():
        raise UserError(folder, fix=f"has no {MANIFEST}, so it is no imported folder; make one with skillfit import")
    manifest = read_json(file)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise UserError(file, fix=f"is no manifest of an import; {again}")
    if manifest.get("format_version") != FORMAT_VERSION:
        found = manifest.get("format_version")
        raise UserError(file, "format_version", found, f"this skillfit reads version {FORMAT_VERSION}; {again}")
    files = manifest.get("files")
    if not isinstance(files, dict) or CORPUS not in files or not isinstance(manifest.get("content_hash"), str):
        raise UserError(file, fix=f"is incomplete; {again}")
    for name, facts in files.items():
        _check_file(root / name, facts, again)
    for name in (QUERIES, QRELS, GRADES):
        if (root / name).exists() and name not in files:
            raise UserError(root / name, fix=f"is not in the manifest; {again}")
    return manifest


def load_imported(path: Path | str) -> tuple[Corpus, list[Query], Qrels]:
    """Corpus, queries and judgements of an imported folder. Raises UserError if the folder is not as it was left."""
    corpus, table = open_imported(path)
    return corpus, list(table.queries), Qrels(table.required, table.grades)


def open_imported(path: Path | str) -> tuple[Corpus, QuerySet]:
    """The same with everything the folder says about its queries."""
    root = Path(path)
    manifest = read_manifest(path)
    corpus = Corpus(root / CORPUS, manifest["content_hash"])
    if QUERIES not in manifest["files"]:
        return corpus, QuerySet()
    table = read_queries(root / QUERIES)
    grades = read_qrels(root / GRADES) if GRADES in manifest["files"] else {}
    return corpus, QuerySet(table.queries, table.required, grades, table.unscored, table.counts)


def _query_row(query: Query, table: QuerySet) -> dict[str, Any]:
    """One line; `required` is there for judged queries only, and empty for those that need no skill."""
    row: dict[str, Any] = {"query_id": query.query_id, "text": query.text, "groups": dict(query.groups)}
    if query.query_id in table.required:
        row["required"] = sorted(table.required[query.query_id])
    if query.query_id in table.unscored:
        row["scored"] = False
    return row


def _check_file(file: Path, facts: Any, again: str) -> None:
    if not file.is_file():
        raise UserError(file, fix=f"is missing from the imported folder; {again}")
    if not isinstance(facts, dict) or file.stat().st_size != facts.get("bytes"):
        raise UserError(file, fix=f"has another size than the manifest says; {again}")
    if hash_file(file) != facts.get("sha256"):
        raise UserError(file, fix=f"was changed after the import; {again}")
