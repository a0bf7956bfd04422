"""Lexical retrieval: plain BM25 over the view's text, by bm25s."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.views import CutLedger, TextView
from skillfit.search.base import Pool, SearchFacts, id_order, ranking, top_k
from skillfit.types import Query, Ranking, Run

# The lists that bm25s has.
StopWords = Literal[
    "en", "en_plus", "de", "nl", "fr", "es", "pt", "it", "ru", "sv", "no", "zh", "tr", "ko", "da", "english",
    "english_plus", "german", "dutch", "french", "spanish", "portuguese", "italian", "russian", "swedish", "norwegian",
    "chinese", "turkish", "korean", "danish",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class LexicalRetriever:
    """BM25 with stop words and no stemming (the baseline of SkillRouter and SkillRet; Lucene's formula).

    A skill that shares no word with the query is not returned, so a query of unknown words has an empty ranking.
    """

    view: TextView
    depth: int = Field(default=100, ge=1)
    k1: float = Field(default=1.5, ge=0)
    b: float = Field(default=0.75, ge=0, le=1)
    stopwords: StopWords | None = "en"

    def search(self, pool: Pool, queries: Sequence[Query]) -> tuple[Run, SearchFacts]:
        """Index the pool and rank it for each query: up to `depth` skills with a BM25 score above 0."""
        import bm25s

        ledger, started = CutLedger(), time.perf_counter()
        texts = (self.view.skill_text(skill, ledger) for skill in pool)
        tokenizer = bm25s.tokenization.Tokenizer(stopwords=self.stopwords or [])
        # Arrays of ids, not lists: 24,000 full skills are 17 million tokens, a gigabyte as Python integers.
        tokens = [np.asarray(row, np.int32) for row in tokenizer.streaming_tokenize(texts, True, allow_empty=False)]
        index = bm25s.BM25(k1=self.k1, b=self.b)
        if any(len(row) for row in tokens):
            index.index((tokens, tokenizer.get_vocab_dict()), show_progress=False)
        built, ids = time.perf_counter(), list(pool.ids)
        order, rankings = id_order(ids), {}
        query_texts = [self.view.query_text(query.text, ledger) for query in queries]
        words = tokenizer.streaming_tokenize(query_texts, "never", allow_empty=False)
        for query, known in zip(queries, words, strict=True):
            rankings[query.query_id] = self._rank(index.get_scores(known), ids, order) if known else Ranking((), ())
        facts = {
            "retriever": {
                "kind": "lexical",
                "k1": self.k1,
                "b": self.b,
                "stopwords": self.stopwords,
                "depth": self.depth,
            },
            "view": self.view.settings(),
            "cut_by_caps": ledger.shares(),
            "seconds": {"index": built - started, "search": time.perf_counter() - built},
        }
        return Run(rankings), SearchFacts(facts)

    def _rank(self, scores: np.ndarray, ids: Sequence[str], order: np.ndarray) -> Ranking:
        found = ranking(ids, scores, top_k(scores, order, self.depth))
        kept = sum(score > 0 for score in found.scores)
        return Ranking(found.skill_ids[:kept], found.scores[:kept])
