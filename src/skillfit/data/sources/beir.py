"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/<split>.tsv."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from skillfit.data.queries import QuerySet, read_queries
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.jsonl import hash_files, skills_in
from skillfit.errors import UserError
from skillfit.io.qrels import read_qrels, required_from
from skillfit.types import Query


class BeirSource(Source):
    """`title` becomes the name and `text` the body; the judgements' splits become the queries' `split` group."""

    name = "beir"
    looks_for = "corpus.jsonl with queries.jsonl"
    precedence = 30
    needs_folder = True

    @classmethod
    def fits(cls, path: Path) -> bool:
        """Corpus and queries are there."""
        return _file(path, "corpus") is not None and _file(path, "queries") is not None

    def items(self) -> Iterator[Found]:
        """One item a line of the corpus."""
        file = self._need("corpus")
        yield from skills_in(file, file.name, self.options.max_bytes, rename={"title": "name", "text": "body"})

    def queries(self) -> QuerySet:
        """All queries with the judgements of `split` (every split where none is named)."""
        table = read_queries(self._need("queries"))
        grades: dict[str, dict[str, int]] = {}
        splits: dict[str, str] = {}
        for file in self._splits():
            for query_id, row in read_qrels(file).items():
                if splits.setdefault(query_id, file.stem) != file.stem:
                    where = f"is judged in {splits[query_id]} and {file.stem}; choose one with split=NAME"
                    raise UserError(file, "query", query_id, where)
                grades[query_id] = row
        queries = tuple(_with_split(query, splits.get(query.query_id)) for query in table.queries)
        if self.options.split:
            queries = tuple(query for query in queries if query.query_id in splits)
        graded = any(grade != 1 for row in grades.values() for grade in row.values())
        return replace(table, queries=queries, required=required_from(grades), grades=grades if graded else {})

    def fingerprint(self) -> str:
        """Corpus, queries and judgements."""
        return hash_files([self._need("corpus"), self._need("queries"), *self._splits()])

    def _splits(self) -> list[Path]:
        files = sorted((self.path / "qrels").glob("*.tsv"))
        wanted = self.options.split
        if not wanted or wanted == "all":
            return files
        chosen = [file for file in files if file.stem == wanted]
        if not chosen:
            there = ", ".join(file.stem for file in files) or "none"
            raise UserError(self.path / "qrels", "split", wanted, f"has no such file; splits there are: {there}")
        return chosen

    def _need(self, name: str) -> Path:
        file = _file(self.path, name)
        if file is None:
            raise UserError(self.path, fix=f"has no {name}.jsonl; a BEIR folder has {self.looks_for}")
        return file


def _file(path: Path, name: str) -> Path | None:
    choices = (path / f"{name}.jsonl", path / f"{name}.jsonl.gz")
    return next((choice for choice in choices if choice.is_file()), None)


def _with_split(query: Query, split: str | None) -> Query:
    return replace(query, groups={**query.groups, "split": split}) if split else query
