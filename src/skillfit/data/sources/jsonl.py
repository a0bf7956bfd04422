"""Skills in JSON Lines: one file, plain or gzipped, or a folder of shards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillfit.data.frontmatter import Note
from skillfit.data.records import parse_json_record, skill_from_record
from skillfit.data.sources.base import Found, Source
from skillfit.errors import UserError
from skillfit.io.files import hash_file, hash_text
from skillfit.io.jsonl import decode_line, read_raw_lines

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


class JsonlSource(Source):
    """One object a line; fields by name (see `data.records`)."""

    name = "jsonl"
    looks_for = "a .jsonl or .jsonl.gz file, or a folder of them"
    precedence = 70

    @classmethod
    def fits(cls, path: Path) -> bool:
        """A file of that suffix, or a folder with one directly in it."""
        return bool(shards(path))

    def items(self) -> Iterator[Found]:
        """One item a line."""
        for file in self._files():
            yield from skills_in(file, file.name, self.options.max_bytes)

    def fingerprint(self) -> str:
        """Names and content of the shards."""
        return hash_files(self._files())

    def _files(self) -> list[Path]:
        files = [self.path] if self.path.is_file() else shards(self.path)
        if not files:
            raise UserError(self.path, fix=f"holds no {self.looks_for}")
        return files


def shards(path: Path) -> list[Path]:
    """The JSON Lines files that a path stands for, in order of name."""
    if path.is_file():
        return [path] if path.name.endswith(SUFFIXES) else []
    return sorted(f for f in path.iterdir() if f.name.endswith(SUFFIXES) and f.is_file() and f.name[0] != ".")


def hash_files(files: list[Path]) -> str:
    """A hash of bare names and contents."""
    return hash_text(*(part for file in files for part in (file.name, hash_file(file))))


def skills_in(file: Path, name: str, max_bytes: int, *, rename: dict[str, str] | None = None) -> Iterator[Found]:
    """The skills of one file; `name` stands for it in the report. rename: fields to rename before they are read."""
    for place, record, notes, problem in records_in(file, name, max_bytes):
        if problem:
            yield Found.skipped(place, problem)
            continue
        for old, new in (rename or {}).items():
            if old in record:
                record[new] = record.pop(old)
        yield skill_from_record(record, place, repairs=notes)


def records_in(file: Path, name: str, max_bytes: int) -> Iterator[tuple[str, dict[str, Any], list[Note], Note | None]]:
    """Yield (place, record, repairs, problem) for each non-blank line; a line with a problem has no record.

    Raises UserError only if the file as a whole cannot be read: a cut-off shard must not pass for a small one.
    """
    for number, raw in read_raw_lines(file, max_bytes):
        place = f"{name}:{number}"
        if len(raw) > max_bytes:
            yield (
                place,
                {},
                [],
                Note("too_large", f"the line is longer than the limit of {max_bytes:,} bytes; max_mib raises it"),
            )
            continue
        try:
            text = decode_line(number, raw)
            if not text:
                continue
            record, notes = parse_json_record(text)
        except UnicodeDecodeError as error:
            yield place, {}, [], Note("not_utf8", f"byte {error.start} is not UTF-8")
        except ValueError as error:
            yield place, {}, [], Note("bad_json", f"{error}; one object a line is expected")
        else:
            yield place, record, notes, None
