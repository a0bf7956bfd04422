"""A folder that holds `skills/` (folders of SKILL.md) and `queries/` or `queries.jsonl`, as skillfit-mini does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from skillfit.data.queries import QuerySet, query_files, read_queries
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.folders import FolderSource, fingerprint_folder, skills_below
from skillfit.data.sources.jsonl import hash_files
from skillfit.io.files import hash_text


class BundleSource(Source):
    """Ids are the paths below `skills/`, without a namespace unless one is given, so that the queries can name them."""

    name = "bundle"
    looks_for = "a folder with skills/ (folders of SKILL.md) and queries/ or queries.jsonl"
    precedence = 32

    @classmethod
    def fits(cls, path: Path) -> bool:
        """Both halves are there."""
        return (path / "skills").is_dir() and _queries(path) is not None and FolderSource.fits(path / "skills")

    def items(self) -> Iterator[Found]:
        """One item a SKILL.md."""
        for found in skills_below(self.path / "skills", self.options.namespace or "", self.options):
            yield replace(found, path=f"skills/{found.path}")

    def queries(self) -> QuerySet:
        """The queries with the skills they require."""
        path = _queries(self.path)
        return read_queries(path) if path else QuerySet()

    def fingerprint(self) -> str:
        """The skills' and the queries' content."""
        path = _queries(self.path)
        return hash_text(fingerprint_folder(self.path / "skills"), hash_files(query_files(path) if path else []))


def _queries(path: Path) -> Path | None:
    choices = (path / "queries", path / "queries.jsonl", path / "queries.jsonl.gz")
    return next((choice for choice in choices if choice.exists()), None)
