"""The corpus: skills in one memory-mapped Arrow file, sorted by id, read a few at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from skillfit.data.copies import expand
from skillfit.errors import UserError
from skillfit.io.files import atomic_write, hash_text
from skillfit.types import Skill

READ_ROWS = 64  # rows turned into Python objects at a time
BATCH_BYTES = 8 * 1024 * 1024  # text a record batch holds at most, unless one skill alone is larger
BATCH_ROWS = 512


class Corpus:
    """Skills in ascending order of skill_id. Iterating streams them; bodies are never all in memory.

    file: an Arrow stream file as `write_skills` leaves it. content_hash: of all its skills, independent of where they
    came from and in which order. only: the ids of a part of them; the rest is as if it were not there.
    """

    def __init__(self, file: Path | str, content_hash: str, only: Iterable[str] | None = None) -> None:
        from datasets import Dataset

        self.file, self._whole_hash = Path(file), content_hash
        self._table = Dataset.from_file(str(self.file)).data.table
        rows = {skill_id: row for row, skill_id in enumerate(self._table.column("skill_id").to_pylist())}
        self._only = None if only is None else frozenset(only)
        if self._only is not None and (strangers := self._only - rows.keys()):
            raise UserError("corpus", "skill_id", min(strangers), f"is not among its {len(rows)} skills")
        self._rows = {skill_id: row for skill_id, row in rows.items() if self._only is None or skill_id in self._only}
        self._ids: tuple[str, ...] = tuple(self._rows)
        self._hash = content_hash if self._only is None else hash_text(content_hash, *self._ids)

    def __reduce__(self) -> tuple[type[Corpus], tuple[Path, str, frozenset[str] | None]]:
        return Corpus, (self.file, self._whole_hash, self._only)

    def part(self, ids: Iterable[str]) -> Corpus:
        """The corpus of these skills alone. Raises UserError for an id it does not have."""
        return Corpus(self.file, self._whole_hash, (skill_id for skill_id in ids if self._expect(skill_id)))

    @property
    def ids(self) -> tuple[str, ...]:
        """The skill ids in storage order."""
        return self._ids

    @property
    def content_hash(self) -> str:
        """A hash over every field of every skill, copies aside."""
        return self._hash

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, skill_id: object) -> bool:
        return skill_id in self._rows

    def __iter__(self) -> Iterator[Skill]:
        rows = list(self._rows.values())
        for start in range(0, len(rows), READ_ROWS):
            chosen = rows[start : start + READ_ROWS]
            whole = len(chosen) == chosen[-1] - chosen[0] + 1
            part = self._table.slice(chosen[0], len(chosen)) if whole else self._table.take(chosen)
            for row in part.to_pylist():
                yield skill_of(row)

    def get(self, skill_id: str) -> Skill:
        """One skill. Raises UserError for an id the corpus does not have."""
        self._expect(skill_id)
        return skill_of(self._table.slice(self._rows[skill_id], 1).to_pylist()[0])

    def copies(self) -> dict[str, frozenset[str]]:
        """skill_id -> itself with its equals and near copies; skills without any are left out."""
        columns = self._table.select(["skill_id", "copy_group", "near_copies"]).to_pydict()
        ids, groups, near = columns["skill_id"], columns["copy_group"], columns["near_copies"]
        found = expand(
            {skill: others for skill, others in zip(ids, near, strict=True) if others},
            {skill: group for skill, group in zip(ids, groups, strict=True) if group},
        )
        if self._only is None:
            return found
        kept = {skill: others & self._only for skill, others in found.items() if skill in self._only}
        return {skill: others for skill, others in kept.items() if len(others) > 1}

    def _expect(self, skill_id: str) -> bool:
        if skill_id not in self._rows:
            raise UserError("corpus", "skill_id", skill_id, f"is not among its {len(self)} skills")
        return True


def schema() -> Any:
    """The columns of a corpus file; `extra` is JSON."""
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    names = ("skill_id", "name", "description", "body", "license", "source")
    columns = [pa.field(name, text) for name in names] + [pa.field("files", texts), pa.field("extra", text)]
    return pa.schema([*columns, pa.field("copy_group", text), pa.field("near_copies", texts)])


def row_of(skill: Skill) -> dict[str, Any]:
    """A skill as a row of the corpus file."""
    return {
        "skill_id": skill.skill_id,
        "name": skill.name,
        "description": skill.description,
        "body": skill.body,
        "license": skill.license,
        "source": skill.source,
        "files": list(skill.files),
        "extra": json.dumps(dict(skill.extra), ensure_ascii=False, allow_nan=False, sort_keys=True, default=str),
        "copy_group": skill.copy_group,
        "near_copies": list(skill.near_copies),
    }


def skill_of(row: dict[str, Any]) -> Skill:
    """The skill in a row of the corpus file."""
    values = {**row, "files": tuple(row["files"]), "near_copies": tuple(row["near_copies"])}
    return Skill(**{**values, "extra": json.loads(row["extra"])})


def hash_row(row: dict[str, Any]) -> str:
    """A hash of what a skill itself says; copies depend on the other skills and are left out."""
    texts = [row[name] for name in ("skill_id", "name", "description", "body", "license", "source", "extra")]
    return hash_text(*texts, *row["files"])


def hash_rows(hashes: Iterable[tuple[str, str]]) -> str:
    """The content hash of a corpus from (skill_id, hash of its row) in any order."""
    return hash_text(*(value for _, value in sorted(hashes)))


class Batcher:
    """Collects rows and hands them on as record batches of bounded size."""

    def __init__(self, write: Callable[[Any], None]) -> None:
        self._write, self._columns = write, schema()
        self._rows: list[dict[str, Any]] = []
        self._size = 0

    def add(self, row: dict[str, Any]) -> None:
        """Take one row."""
        self._rows.append(row)
        self._size += len(row["body"]) + len(row["description"]) + len(row["extra"])
        if self._size >= BATCH_BYTES or len(self._rows) == BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Hand on what is left."""
        import pyarrow as pa

        if self._rows:
            self._write(pa.RecordBatch.from_pylist(self._rows, schema=self._columns))
        self._rows, self._size = [], 0


def write_rows(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a corpus file from rows in ascending order of skill_id, atomically."""
    import pyarrow as pa

    with atomic_write(file, "wb") as handle, pa.ipc.new_stream(handle, schema()) as writer:
        batcher = Batcher(writer.write_batch)
        for row in rows:
            batcher.add(row)
        batcher.flush()


def write_skills(file: Path, skills: Iterable[Skill]) -> Corpus:
    """Write skills to a corpus file and open it. Raises UserError for an id that occurs twice."""
    rows = sorted((row_of(skill) for skill in skills), key=lambda row: str(row["skill_id"]))
    for before, row in pairwise(rows):
        if before["skill_id"] == row["skill_id"]:
            raise UserError(file, "skill_id", row["skill_id"], "occurs twice")
    write_rows(file, rows)
    return Corpus(file, hash_rows((row["skill_id"], hash_row(row)) for row in rows))
