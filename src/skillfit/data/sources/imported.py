"""An imported folder as a source, to be joined with others or imported with other options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from skillfit.data.native import CORPUS, is_imported, open_imported, read_manifest
from skillfit.data.queries import QuerySet
from skillfit.data.sources.base import Found, Source


class ImportedSource(Source):
    """Its skills as they are; copies are looked for anew."""

    name = "imported"
    looks_for = "an imported folder with its manifest.json"
    precedence = 10
    needs_folder = True

    @classmethod
    def fits(cls, path: Path) -> bool:
        """A manifest of this format is there."""
        return is_imported(path)

    def items(self) -> Iterator[Found]:
        """One item a skill."""
        corpus, _ = open_imported(self.path)
        for number, skill in enumerate(corpus, 1):
            yield Found(f"{CORPUS}:{number}", "loaded", replace(skill, copy_group="", near_copies=()))

    def queries(self) -> QuerySet:
        """The folder's queries and judgements."""
        return open_imported(self.path)[1]

    def fingerprint(self) -> str:
        """The hashes in the manifest, which are checked."""
        return str(read_manifest(self.path)["files"])
