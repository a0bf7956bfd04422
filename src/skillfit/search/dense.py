"""Dense retrieval: exact cosine search in float32 over a pool encoded by a bi-encoder."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.views import CutLedger, TextView
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.source import EMBEDDED, resolve_model
from skillfit.search.base import Pool, SearchFacts, id_order, ranking, top_k
from skillfit.search.embeddings import pool_embeddings
from skillfit.types import Query, Run

log = logging.getLogger(__name__)
QUERY_BLOCK = 64  # bounds the score matrix: 64 queries x 80,000 skills x 4 bytes = 20 MB


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DenseRetriever:
    """A bi-encoder over the whole pool; scores are cosines in float32 under the one total order.

    model: the embedded default's name, a folder or a hub name. Prompts and window left null are the model's own.
    """

    view: TextView
    model: str = EMBEDDED
    depth: int = Field(default=100, ge=1)
    batch_size: int = Field(default=32, ge=1)
    max_length: int | None = Field(default=None, ge=8)
    query_prompt: str | None = None
    document_prompt: str | None = None
    device: str | None = None
    cache: Path | None = None

    def __post_init__(self) -> None:
        resolve_model(self.model)

    def search(self, pool: Pool, queries: Sequence[Query]) -> tuple[Run, SearchFacts]:
        """Encode pool and queries and rank every skill exactly; the best `depth` a query are returned."""
        started = time.perf_counter()
        encoder = BiEncoder.load(
            self.model,
            max_length=self.max_length,
            query_prompt=self.query_prompt,
            document_prompt=self.document_prompt,
            device=self.device,
        )
        self._warn_of_other_view(encoder)
        cache = self.cache.expanduser() if self.cache else None
        pool_side = pool_embeddings(encoder, pool, self.view, cache=cache, batch_size=self.batch_size)
        encoded, ledger = time.perf_counter(), CutLedger()
        texts = [self.view.query_text(query.text, ledger) for query in queries]
        query_vectors = encoder.encode(texts, "query", batch_size=self.batch_size)
        run = rank_all(pool.ids, pool_side.vectors, [query.query_id for query in queries], query_vectors, self.depth)
        cut_queries = encoder.count_cut(texts, "query")
        kind = {"kind": "dense", "model": self.model, "depth": self.depth, "fingerprint": encoder.fingerprint()}
        facts = {
            "retriever": {**kind, "prompts": encoder.prompts, "max_length": encoder.max_length},
            "view": self.view.settings(),
            "cut_by_caps": {**pool_side.caps, **ledger.shares()},
            "cut_by_window": {"skills": pool_side.cut / len(pool), "queries": cut_queries / max(1, len(texts))},
            "embeddings": {"shards": pool_side.shards, "reused": pool_side.reused},
            "seconds": {"index": encoded - started, "search": time.perf_counter() - encoded},
        }
        return run, SearchFacts(facts)

    def _warn_of_other_view(self, encoder: BiEncoder) -> None:
        trained = encoder.card.get("view")
        if trained is not None and trained != self.view.settings():
            log.warning(
                "%s was trained on view %s with caps %s; this run uses view %s with caps %s",
                self.model, trained.get("name"), trained.get("caps"), self.view.name, self.view.settings()["caps"],
            )  # fmt: skip


def rank_all(
    ids: Sequence[str], vectors: np.ndarray, query_ids: Sequence[str], query_vectors: np.ndarray, depth: int
) -> Run:
    """Exact top-`depth` of every query. vectors: (N, H), query_vectors: (Q, H), both float32."""
    order, rankings = id_order(ids), {}
    for start in range(0, len(query_ids), QUERY_BLOCK):
        block = query_vectors[start : start + QUERY_BLOCK] @ vectors.T  # (block, N)
        for query_id, scores in zip(query_ids[start : start + QUERY_BLOCK], block, strict=True):
            rankings[query_id] = ranking(ids, scores, top_k(scores, order, depth))
    return Run(rankings)
