"""A folder that holds skills and the queries asked of them, as skillfit-mini does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from skillfit.data.queries import QuerySet, query_files, read_queries
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.folders import FolderSource, fingerprint_folder, skills_below
from skillfit.data.sources.jsonl import hash_files, skills_in
from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.io.qrels import read_qrels, required_from

QRELS, GRADES = "qrels.tsv", "grades.tsv"


class BundleSource(Source):
    """Skills in `skills/` (folders of SKILL.md) or `skills.jsonl`, queries in `queries/` or `queries.jsonl`.

    Ids are the paths below `skills/`, without a namespace unless one is given, so that the queries can name them.
    `qrels.tsv` adds required skills to those that the queries name themselves, `grades.tsv` grades.
    """

    name = "bundle"
    looks_for = "a folder with skills/ or skills.jsonl, and queries/ or queries.jsonl"
    precedence = 32
    needs_folder = True

    @classmethod
    def fits(cls, path: Path) -> bool:
        """Both halves are there."""
        skills = _part(path, "skills")
        return (
            skills is not None
            and _part(path, "queries") is not None
            and (skills.is_file() or FolderSource.fits(skills))
        )

    def items(self) -> Iterator[Found]:
        """One item a SKILL.md or line."""
        skills = self._need("skills")
        if skills.is_file():
            yield from skills_in(skills, skills.name, self.options.max_bytes)
            return
        for found in skills_below(skills, self.options.namespace or "", self.options):
            yield replace(found, path=f"{skills.name}/{found.path}")

    def queries(self) -> QuerySet:
        """The queries with the skills they require."""
        table = read_queries(self._need("queries"))
        qrels, grades = self.path / QRELS, self.path / GRADES
        required = required_from(read_qrels(qrels)) if qrels.is_file() else {}
        scored = {query: skills for query, skills in required.items() if query not in table.unscored}
        graded = read_qrels(grades) if grades.is_file() else {}
        return replace(table, required={**table.required, **scored}, grades=graded)

    def fingerprint(self) -> str:
        """The content of skills, queries and judgements."""
        skills = self._need("skills")
        own = hash_files([skills]) if skills.is_file() else fingerprint_folder(skills, self.options)
        judged = [file for file in (self.path / QRELS, self.path / GRADES) if file.is_file()]
        return hash_text(own, hash_files([*query_files(self._need("queries")), *judged]))

    def _need(self, name: str) -> Path:
        part = _part(self.path, name)
        if part is None:
            raise UserError(self.path, fix=f"has no {name}/ or {name}.jsonl; a bundle is {self.looks_for}")
        return part


def _part(path: Path, name: str) -> Path | None:
    choices = (path / name, path / f"{name}.jsonl", path / f"{name}.jsonl.gz")
    return next((choice for choice in choices if choice.exists()), None)
