"""What every source of skills has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from skillfit.data.frontmatter import Note
from skillfit.data.options import ImportOptions
from skillfit.data.queries import QuerySet
from skillfit.io.files import hash_paths
from skillfit.types import Skill

Status = Literal["loaded", "repaired", "skipped"]


@dataclass(frozen=True, slots=True)
class Found:
    """One file or record that a source met: loaded as it is, loaded after a repair, or skipped; `notes` say why.

    path: relative to the source, or the bare name where the source is a file; `file:line` for records.
    """

    path: str
    status: Status
    skill: Skill | None = None
    notes: tuple[Note, ...] = ()

    @property
    def reason(self) -> str:
        """Everything worth saying in one line, "" for a plain item."""
        return "; ".join(map(str, self.notes))

    @classmethod
    def skipped(cls, path: str, note: Note) -> Found:
        """An item that holds no usable skill."""
        return cls(path, "skipped", None, (note,))


class Source(ABC):
    """One format. A new format is one module in this package with one subclass; nothing else needs to know it.

    name: the value of `format=`. looks_for: what a path must hold, for the error message. precedence: formats are tried
    in ascending order. needs_folder: whether a file can never be this format. unknown: what happens by default to
    judged ids that are not in the corpus.
    """

    name: ClassVar[str]
    looks_for: ClassVar[str]
    precedence: ClassVar[int]
    unknown: ClassVar[Literal["error", "drop"]] = "error"
    needs_folder: ClassVar[bool] = False

    def __init__(self, path: Path, options: ImportOptions) -> None:
        self.path = path
        self.options = options

    @classmethod
    @abstractmethod
    def fits(cls, path: Path) -> bool:
        """Whether this path holds the format, judged by names and at most a first line."""

    @abstractmethod
    def items(self) -> Iterator[Found]:
        """Every file or record found, in a fixed order. One bad item is reported and never ends the iteration."""

    def queries(self) -> QuerySet:
        """The queries and judgements of the source; empty for formats without."""
        return QuerySet()

    def fingerprint(self) -> str:
        """A hash of everything the import of this source depends on."""
        return hash_paths([self.path])
