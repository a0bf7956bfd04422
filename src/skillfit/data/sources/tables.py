"""Skills in Parquet or Arrow tables: one file, a folder of shards, or what `datasets` saved to disk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillfit.data.records import skill_from_record
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.jsonl import hash_files
from skillfit.errors import UserError

SUFFIXES = (".parquet", ".arrow")
ROWS = 128  # a batch of long bodies stays small


class TableSource(Source):
    """One skill a row; columns by name (see `data.records`)."""

    name = "parquet"
    looks_for = "a .parquet or .arrow file, or a folder of them"
    precedence = 80

    @classmethod
    def fits(cls, path: Path) -> bool:
        """A file of that suffix, or a folder with one directly in it."""
        return bool(table_files(path))

    def items(self) -> Iterator[Found]:
        """One item a row, its place being `file:row`."""
        for file in self._files():
            for number, row in table_rows(file):
                yield skill_from_record(row, f"{file.name}:{number}")

    def fingerprint(self) -> str:
        """Names and content of the files."""
        return hash_files(self._files())

    def _files(self) -> list[Path]:
        files = [self.path] if self.path.is_file() else table_files(self.path)
        if not files:
            raise UserError(self.path, fix=f"holds no {self.looks_for}")
        return files


def table_files(path: Path) -> list[Path]:
    """The tables that a path stands for, in order of name."""
    if path.is_file():
        return [path] if path.suffix in SUFFIXES else []
    return sorted(f for f in path.iterdir() if f.suffix in SUFFIXES and f.is_file() and f.name[0] != ".")


def table_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (row number from 1, row) with plain JSON values. Raises UserError if the file cannot be read."""
    import pyarrow as pa

    number = 0
    try:
        for batch in _batches(file):
            for start in range(0, len(batch), ROWS):
                for row in batch.slice(start, ROWS).to_pylist():
                    number += 1
                    yield number, {key: _plain(value) for key, value in row.items()}
    except (pa.ArrowException, OSError) as error:
        problem = str(error).split("\n")[0][:200]
        raise UserError(file, fix=f"cannot be read as a table after row {number} ({problem})") from error


def _batches(file: Path) -> Iterator[Any]:
    if file.suffix == ".parquet":
        from pyarrow.parquet import ParquetFile

        with ParquetFile(file, memory_map=True) as table:
            yield from table.iter_batches(batch_size=ROWS)
        return
    import pyarrow as pa

    with pa.memory_map(str(file)) as mapped:
        try:
            reader = pa.ipc.open_stream(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            whole = pa.ipc.open_file(mapped)
            yield from (whole.get_batch(i) for i in range(whole.num_record_batches))
        else:
            yield from reader


def _plain(value: Any) -> Any:
    """A value as JSON holds it: NaN, which tables use for missing numbers, is null; dates and bytes are text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
