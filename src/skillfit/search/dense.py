"""Dense retrieval: exact cosine search in float32 over a pool encoded by a bi-encoder."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.views import CutLedger, TextView
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.checks import check_device, check_window
from skillfit.models.encoding import Precision
from skillfit.models.source import EMBEDDED, resolve_model
from skillfit.search.base import Pool, SearchFacts
from skillfit.search.embeddings import Embeddings, pool_embeddings
from skillfit.search.exact import rank_all
from skillfit.types import Query, Run

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DenseRetriever:
    """A bi-encoder over the whole pool; scores are cosines rounded to float32 under the one total order.

    model: the embedded default's name, a folder or a hub name. Prompts, window and pooling left null are the model's
    own. dtype: the weights' precision; vectors and scores are float32 whatever it is.
    """

    view: TextView
    model: str = EMBEDDED
    depth: int = Field(default=100, ge=1)
    batch_size: int = Field(default=32, ge=1)
    max_length: int | None = Field(default=None, ge=8)
    query_prompt: str | None = None
    document_prompt: str | None = None
    pooling: Literal["mean", "cls", "last"] | None = None
    dtype: Precision = "float32"
    device: str | None = None
    cache: Path | None = None

    def __post_init__(self) -> None:
        resolve_model(self.model)
        check_window(self.model, self.max_length)
        check_device(self.device)

    def search(self, pool: Pool, queries: Sequence[Query]) -> tuple[Run, SearchFacts]:
        """Encode pool and queries and rank every skill exactly; the best `depth` a query are returned."""
        started, ledger = time.perf_counter(), CutLedger()
        encoder = self._load()
        self._warn_of_other_view(encoder)
        skills = self._embed(encoder, pool)
        encoded = time.perf_counter()
        texts = [self.view.query_text(query.text, ledger) for query in queries]
        vectors, ids = encoder.encode(texts, "query", batch_size=self.batch_size), [query.query_id for query in queries]
        how = self.view.passage_score
        run = rank_all(pool.ids, skills.vectors, ids, vectors, self.depth, starts=skills.starts, score=how)
        cut_queries = encoder.count_cut(texts, "query")
        kind = {"kind": "dense", "model": self.model, "depth": self.depth, "fingerprint": encoder.fingerprint()}
        model = {"prompts": encoder.prompts, "max_length": encoder.max_length, "pooling": encoder.pooling}
        facts = {
            "retriever": {**kind, **model, "dtype": self.dtype},
            "view": self.view.settings(),
            "cut_by_caps": {**skills.caps, **ledger.shares()},
            "cut_by_window": {
                "skills": skills.cut / max(1, len(skills.vectors)),
                "queries": cut_queries / max(1, len(texts)),
            },
            "embeddings": skills.facts(),
            "seconds": {"index": encoded - started, "search": time.perf_counter() - encoded},
        }
        return run, SearchFacts(facts)

    def skill_vectors(self, pool: Pool) -> np.ndarray:
        """(N, H) float32, one vector a skill in the pool's order: the mean of its passages where it has several."""
        found = self._embed(self._load(), pool)
        counts = np.diff(found.starts)
        if len(counts) == len(found.vectors):
            return found.vectors
        return np.asarray(np.add.reduceat(found.vectors, found.starts[:-1]) / counts[:, None].astype(np.float32))

    def _load(self) -> BiEncoder:
        return BiEncoder.load(
            self.model,
            max_length=self.max_length,
            query_prompt=self.query_prompt,
            document_prompt=self.document_prompt,
            pooling=self.pooling,
            dtype=self.dtype,
            device=self.device,
        )

    def _embed(self, encoder: BiEncoder, pool: Pool) -> Embeddings:
        cache = self.cache.expanduser() if self.cache else None
        return pool_embeddings(encoder, pool, self.view, cache=cache, batch_size=self.batch_size)

    def _warn_of_other_view(self, encoder: BiEncoder) -> None:
        trained, ours = encoder.card.get("view"), self.view.settings()
        if trained is not None and trained != ours:
            log.warning(
                "%s was trained on view %s with caps %s%s; this run uses view %s with caps %s%s",
                self.model, trained.get("name"), trained.get("caps"), _passages(trained),
                ours["name"], ours["caps"], _passages(ours),
            )  # fmt: skip


def _passages(view: Mapping[str, object]) -> str:
    return f" and passages {view['passages']}" if "passages" in view else ""
