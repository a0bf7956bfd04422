"""Document embeddings of a pool: encoded once, kept in shards that resume, keyed by everything that shapes them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from skillfit.data.views import CutLedger, TextView
from skillfit.io.files import atomic_write, hash_text
from skillfit.models.bi_encoder import BiEncoder
from skillfit.progress import track
from skillfit.search.base import Pool
from skillfit.types import Skill

log = logging.getLogger(__name__)
SHARD = 512  # skills a shard: about half a minute of work on two cores, the most that a kill can lose
LAYOUT = "1"  # part of the key; raise it when the shard format or the way of encoding changes


@dataclass(frozen=True)
class Embeddings:
    """vectors: (N, H) float32 in the pool's order; cut: how many texts did not fit the window; reused: shards found."""

    vectors: np.ndarray
    cut: int
    caps: dict[str, float]
    reused: int
    shards: int


def pool_embeddings(
    encoder: BiEncoder, pool: Pool, view: TextView, *, cache: Path | None, batch_size: int = 32
) -> Embeddings:
    """Encode every skill of the pool under a view, reusing shards of an earlier or interrupted run.

    The shards' folder is named by a hash of the corpus content, the model's fingerprint and the view, so a changed
    text, model, prompt, window or cap never meets an old vector. Each shard appears atomically. cache None encodes in
    memory.
    """
    key = hash_text(LAYOUT, pool.content_hash, encoder.fingerprint(), json.dumps(view.settings(), sort_keys=True))
    folder = cache / "embeddings" / key[:32] if cache else None
    parts: list[np.ndarray] = []
    ledger, cut, reused = CutLedger(), 0, 0
    total = -(-len(pool) // SHARD)
    for number, skills in enumerate(track(_chunks(pool), "encoding skills", total)):
        texts = [view.skill_text(skill, ledger) for skill in skills]
        file = folder / f"{number:05d}.safetensors" if folder else None
        shard = _read_shard(file, len(texts)) if file else None
        if shard is None:
            shard = encoder.encode(texts, "document", batch_size=batch_size), encoder.count_cut(texts, "document")
            if file:
                _write_shard(file, *shard)
        else:
            reused += 1
        parts.append(shard[0])
        cut += shard[1]
    if reused:
        log.info("embeddings: %d of %d shards reused from %s", reused, total, folder)
    return Embeddings(np.concatenate(parts), cut, ledger.shares(), reused, total)


def _chunks(pool: Pool) -> Iterator[list[Skill]]:
    skills = iter(pool)
    while chunk := list(islice(skills, SHARD)):
        yield chunk


def _write_shard(file: Path, vectors: np.ndarray, cut: int) -> None:
    from safetensors.numpy import save

    with atomic_write(file, "wb") as handle:
        handle.write(save({"vectors": vectors}, metadata={"cut": str(cut)}))


def _read_shard(file: Path, rows: int) -> tuple[np.ndarray, int] | None:
    """The shard, or None if it is absent or damaged (it is then made anew)."""
    from safetensors import SafetensorError, safe_open

    if not file.is_file():
        return None
    try:
        with safe_open(file, framework="numpy") as handle:
            vectors, cut = handle.get_tensor("vectors"), int((handle.metadata() or {})["cut"])
    except (SafetensorError, KeyError, ValueError, OSError):
        log.warning("%s is damaged and is made anew", file)
        return None
    intact = (
        vectors.ndim == 2 and vectors.dtype == np.float32 and len(vectors) == rows and bool(np.isfinite(vectors).all())
    )
    return (vectors, cut) if intact else None
