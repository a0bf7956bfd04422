"""JSON and JSON Lines, plain or gzipped, with the place of every fault."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from skillfit.errors import UserError
from skillfit.io.files import atomic_write


def read_jsonl(path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a .jsonl or .jsonl.gz file; blank lines, CRLF and a BOM are accepted.

    Raises UserError naming `file:line` for anything that is not a JSON object.
    """
    for number, text in read_lines(path):
        yield number, parse_record(text, f"{path}:{number}")


def read_lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text) of the non-blank lines of a UTF-8 file, plain or gzipped."""
    for number, raw in read_raw_lines(path):
        try:
            text = decode_line(number, raw)
        except UnicodeDecodeError as error:
            raise UserError(f"{path}:{number}", f"byte {error.start}", fix="is not UTF-8") from error
        if text:
            yield number, text


def read_raw_lines(path: Path | str, limit: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, bytes) of every line of a file, plain or gzipped.

    limit: a longer line comes as its first `limit` + 1 bytes, so that no line can fill the memory; the rest is passed
    over. Raises UserError if the file is missing, unreadable or a damaged gzip file.
    """
    file = Path(path)
    if not file.is_file():
        raise UserError(file, fix="no such file; check the path" if not file.exists() else "is not a file")
    size = -1 if limit is None else limit + 1
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as handle:
            number = 0
            while raw := handle.readline(size):
                number += 1
                piece = raw
                while len(piece) == size and not piece.endswith(b"\n"):
                    piece = handle.readline(size)
                yield number, raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(file, fix=f"the gzip file is damaged or cut off ({error})") from error
    except OSError as error:
        raise UserError(file, fix=f"cannot be read ({error.strerror}); check its permissions") from error


def decode_line(number: int, raw: bytes) -> str:
    """A line's text without its line end, outer blanks and, on the first line, a BOM. Raises UnicodeDecodeError."""
    return raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n \t")


def parse_record(text: str, place: str) -> dict[str, Any]:
    """One JSON object from text. Raises UserError naming the place if it is anything else."""
    try:
        record = _loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(place, fix=f"is not valid JSON ({error}); one object a line is expected") from error
    if not isinstance(record, dict):
        raise UserError(place, fix=f"holds a JSON {type(record).__name__}; one object a line is expected")
    return record


def write_jsonl(path: Path | str, rows: Iterable[dict[str, Any]]) -> int:
    """Write one object a line, atomically; returns the number of lines. Raises ValueError for NaN: write null."""
    count = 0
    with atomic_write(path) as handle:
        for row in rows:
            handle.write(_dumps(row) + "\n")
            count += 1
    return count


def read_json(path: Path | str, *, allow_nan: bool = False) -> Any:
    """The value in a JSON file. Raises UserError naming the file if it is missing or malformed.

    allow_nan: take NaN and Infinity, which Python's own writer leaves, for numbers.
    """
    file = Path(path)
    if not file.is_file():
        raise UserError(file, fix="no such file; check the path")
    try:
        return _loads(file.read_text(encoding="utf-8-sig"), allow_nan=allow_nan)
    except (ValueError, RecursionError) as error:
        raise UserError(file, fix=f"is not valid JSON ({error})") from error
    except OSError as error:
        raise UserError(file, fix=f"cannot be read ({error.strerror}); check its permissions") from error


def write_json(path: Path | str, value: Any) -> None:
    """Write a value as indented JSON, atomically. Raises ValueError for NaN: results hold numbers or null."""
    with atomic_write(path) as handle:
        handle.write(_dumps(value, indent=1) + "\n")


def field(record: dict[str, Any], names: tuple[str, ...], place: str) -> str:
    """The first of the named fields that the record has, as text.

    Raises UserError if none is there, or if it is null, blank or neither text nor a number.
    """
    for name in names:
        if name not in record:
            continue
        value = record[name]
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value.strip():
            raise UserError(place, name, value if value is not None else "null", "give non-empty text")
        return value
    raise UserError(place, names[0], fix=f"is missing; the record has: {', '.join(record) or '(nothing)'}")


def _loads(text: str, *, allow_nan: bool = False) -> Any:
    """Strict JSON: NaN, Infinity and a name given twice (of which the last would win unseen) raise ValueError."""
    constants = None if allow_nan else _refuse_constant
    return json.loads(text, parse_constant=constants, object_pairs_hook=_distinct)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} is given twice in one object")
    return record


def _dumps(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, as a cut emoji leaves it, has no UTF-8 form but an escape
        return json.dumps(value, allow_nan=False, indent=indent)
    return text
