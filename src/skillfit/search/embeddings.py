"""Document embeddings of a pool: encoded once, kept in shards that resume, keyed by everything that shapes them."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from skillfit.data.views import CutLedger, TextView
from skillfit.io.files import atomic_write, hash_text
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.encoding import Precision
from skillfit.progress import track
from skillfit.search.base import Pool

log = logging.getLogger(__name__)
SHARD = 512  # texts a shard holds at least: about half a minute of work on two cores, the most that a kill can lose
LAYOUT = "2"  # part of the key; raise it when the shard format or the way of encoding changes
Shard = tuple[np.ndarray, int]  # the vectors of its texts, and how many of them the window cut
SkillTexts = list[tuple[str, ...]]  # of the skills of one shard


@dataclass(frozen=True)
class Embeddings:
    """vectors: (P, H) float32, the rows of each skill together, skills in the pool's order.

    starts: (N + 1,) first row of each skill, and P; with one text a skill row i is skill i. cut: how many texts did not
    fit the window. caps: shares of cut fields. reused: shards found.
    """

    vectors: np.ndarray
    starts: np.ndarray
    cut: int
    caps: dict[str, float]
    reused: int
    shards: int
    seconds: float

    def facts(self) -> dict[str, Any]:
        """Counts, time and memory for the run folder."""
        skills, texts = len(self.starts) - 1, len(self.vectors)
        return {
            "shards": self.shards,
            "reused": self.reused,
            "texts": texts,
            "texts_per_skill": texts / max(1, skills),
            "seconds": self.seconds,
            "mib": self.vectors.nbytes / 2**20,
        }


def pool_embeddings(
    encoder: BiEncoder,
    pool: Pool,
    view: TextView,
    *,
    cache: Path | None,
    batch_size: int = 32,
    dtype: Precision | None = None,
) -> Embeddings:
    """Encode every skill of the pool under a view, reusing shards of an earlier or interrupted run.

    The shards' folder is named by a hash of the corpus content, the model's fingerprint and the view, so a changed
    text, model, prompt, window or cap never meets an old vector. Each shard appears atomically. cache None encodes in
    memory. Equal texts get equal vectors, bit by bit.
    """
    started = time.perf_counter()
    folder = cache / "embeddings" / _key(encoder, pool, view, dtype) if cache else None
    ledger, known = CutLedger(), _Known()
    cut, reused, counts = 0, 0, list[int]()
    for number, skills in enumerate(_shards(pool, view, ledger)):
        texts = [text for several in skills for text in several]
        file = folder / f"{number:05d}.safetensors" if folder else None
        shard = _read_shard(file, len(texts)) if file else None
        reused += shard is not None
        if shard is None:
            new = known.missing(texts)
            vectors = encoder.encode(new, "document", batch_size=batch_size, dtype=dtype)
            shard = known.complete(texts, new, vectors), encoder.count_cut(texts, "document")
            if file:
                _write_shard(file, *shard)
        known.add(texts, shard[0])
        cut += shard[1]
        counts += map(len, skills)
    if reused:
        log.info("embeddings: %d of %d shards reused from %s", reused, len(known.parts), folder)
    shards, starts = len(known.parts), np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return Embeddings(known.joined(), starts, cut, ledger.shares(), reused, shards, time.perf_counter() - started)


def _key(encoder: BiEncoder, pool: Pool, view: TextView, dtype: Precision | None) -> str:
    settings = dict(view.settings())
    if isinstance(passages := settings.get("passages"), dict):  # how passages are scored shapes no vector
        settings["passages"] = {name: value for name, value in passages.items() if name != "score"}
    parts = (pool.content_hash, encoder.fingerprint(), json.dumps(settings, sort_keys=True), dtype or encoder.dtype)
    return hash_text(LAYOUT, *parts)[:32]


def _shards(pool: Pool, view: TextView, ledger: CutLedger) -> Iterator[SkillTexts]:
    """The texts of consecutive skills, a shard's at a time; a skill is never parted."""
    skills: SkillTexts = []
    count = 0
    for skill in track(pool, "encoding skills", len(pool)):
        skills.append(view.skill_texts(skill, ledger))
        count += len(skills[-1])
        if count >= SHARD:
            yield skills
            skills, count = [], 0
    if skills:
        yield skills


@dataclass
class _Known:
    """The vectors so far, found again by their text: a copy gets the bits of the first, whatever shard that is in."""

    parts: list[np.ndarray] = field(default_factory=list)
    places: dict[bytes, tuple[int, int]] = field(default_factory=dict)

    def missing(self, texts: list[str]) -> list[str]:
        """The texts that have no vector yet."""
        return [text for text in texts if _digest(text) not in self.places]

    def complete(self, texts: list[str], new: list[str], vectors: np.ndarray) -> np.ndarray:
        """The vectors of all texts, from those of the new ones and those known before."""
        rows = dict(zip(new, vectors, strict=True))
        return np.stack([rows[text] if text in rows else self._at(*self.places[_digest(text)]) for text in texts])

    def add(self, texts: list[str], vectors: np.ndarray) -> None:
        """Keep a shard's vectors; where one was made at another time than its copy, the first of them holds."""
        self.parts.append(vectors)
        for row, text in enumerate(texts):
            here = (len(self.parts) - 1, row)
            if (first := self.places.setdefault(_digest(text), here)) != here:
                vectors[row] = self._at(*first)

    def joined(self) -> np.ndarray:
        """All vectors in one array; the parts are given up one by one, so that they are never in memory twice."""
        row = sum(map(len, self.parts))
        vectors = np.empty((row, self.parts[0].shape[1] if self.parts else 0), np.float32)
        while self.parts:
            part = self.parts.pop()
            vectors[row - len(part) : row] = part
            row -= len(part)
        return vectors

    def _at(self, part: int, row: int) -> np.ndarray:
        return np.asarray(self.parts[part][row])


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _write_shard(file: Path, vectors: np.ndarray, cut: int) -> None:
    from safetensors.numpy import save

    with atomic_write(file, "wb") as handle:
        handle.write(save({"vectors": vectors}, metadata={"cut": str(cut), "sha256": _checksum(vectors)}))


def _read_shard(file: Path, rows: int) -> Shard | None:
    """The shard, or None if it is absent or damaged (it is then made anew)."""
    from safetensors import SafetensorError, safe_open

    if not file.is_file():
        return None
    try:
        with safe_open(file, framework="numpy") as handle:
            vectors, told = handle.get_tensor("vectors"), handle.metadata() or {}
            cut, checksum = int(told["cut"]), told["sha256"]
    except (SafetensorError, KeyError, ValueError, OSError):
        vectors, cut, checksum = np.empty(0), 0, ""
    if vectors.ndim == 2 and vectors.dtype == np.float32 and len(vectors) == rows and _checksum(vectors) == checksum:
        return vectors, cut
    log.warning("%s is damaged and is made anew", file)
    return None


def _checksum(vectors: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(vectors).data).hexdigest()
