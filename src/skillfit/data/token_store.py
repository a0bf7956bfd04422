"""Texts tokenised once into a memory-mapped Arrow file, so that no training step tokenises anything."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from skillfit.io.files import atomic_write, hash_text
from skillfit.progress import track

log = logging.getLogger(__name__)
BLOCK = 512  # texts tokenised at a time
Tokenise = Callable[[Sequence[str]], Sequence[np.ndarray]]


class TokenStore:
    """Token ids of distinct texts by row, read from an Arrow file without copying.

    lengths: (n,) int64 tokens of each row. Rows stand in the order of the texts given to `build`.
    """

    def __init__(self, file: Path) -> None:
        import pyarrow as pa

        self.file = file
        column = pa.ipc.open_stream(pa.memory_map(str(file))).read_all().column("ids")
        self._chunks = [(chunk.offsets.to_numpy(), chunk.values.to_numpy()) for chunk in column.chunks]
        sizes = [np.diff(offsets) for offsets, _ in self._chunks]
        self.lengths = np.concatenate(sizes).astype(np.int64) if sizes else np.empty(0, np.int64)

    def __reduce__(self) -> tuple[type[TokenStore], tuple[Path]]:
        return TokenStore, (self.file,)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> np.ndarray:
        offsets, values = self._chunks[row // BLOCK]
        start, stop = offsets[row % BLOCK], offsets[row % BLOCK + 1]
        ids: np.ndarray = values[start:stop]
        return ids

    @classmethod
    def build(cls, texts: Sequence[str], tokenise: Tokenise, folder: Path, *, key: str, what: str) -> TokenStore:
        """Tokenise the texts into `folder`, or reuse the file that an earlier run left there for the same content.

        key: everything besides the texts that shapes the ids (tokenizer, window, prompt). what: named in the log.
        """
        file = folder / f"{hash_text(key, *texts)[:32]}.arrow"
        if file.is_file():
            log.info("tokens of %d %s: reused %s, same texts, tokenizer, window and prompt", len(texts), what, file)
        else:
            _write(file, texts, tokenise, what)
        return cls(file)


def _write(file: Path, texts: Sequence[str], tokenise: Tokenise, what: str) -> None:
    import pyarrow as pa

    schema = pa.schema([pa.field("ids", pa.list_(pa.int32()))])
    starts = range(0, len(texts), BLOCK)
    with atomic_write(file, "wb") as handle, pa.ipc.new_stream(handle, schema) as writer:
        for start in track(starts, f"tokenising {what}", len(starts)):
            rows = tokenise(texts[start : start + BLOCK])
            offsets = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int32)
            values = pa.array(np.concatenate(rows).astype(np.int32), pa.int32())
            writer.write_batch(pa.record_batch([pa.ListArray.from_arrays(pa.array(offsets), values)], schema=schema))
