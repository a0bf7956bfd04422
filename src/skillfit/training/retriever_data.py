"""From pairs to batches: texts under the view, tokenised once, in chunks that fit a token budget."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillfit.data.benchmark import Benchmark
from skillfit.data.corpus import Corpus
from skillfit.data.examples import Pair, PairSet
from skillfit.data.negatives import NegativeOptions, attach, read_mined
from skillfit.data.views import CutLedger, TextView
from skillfit.io.files import hash_text

if TYPE_CHECKING:
    from skillfit.data.collate import RetrieverCollate, TextRows
    from skillfit.models.bi_encoder import BiEncoder, Kind

log = logging.getLogger(__name__)


def with_negatives(pairs: PairSet, options: NegativeOptions, corpus: Corpus, seed: int) -> PairSet:
    """The pairs with the negatives that the options ask for. Raises UserError for a file mined from another corpus."""
    mined = read_mined(options.file, corpus.content_hash, known=corpus) if options.file else None
    return attach(
        pairs,
        mined,
        pool_ids=corpus.ids,
        per_query=options.per_query,
        random=options.random,
        short=options.short,
        seed=seed,
        teacher=mined.teacher if mined else None,
    )


@dataclass(frozen=True)
class TrainingTexts:
    """Texts by key as the model reads them. queries: query_id -> text; documents: document key -> its passages."""

    queries: Mapping[str, str]
    documents: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, pairs: PairSet, benchmark: Benchmark, view: TextView, ledger: CutLedger) -> TrainingTexts:
        """Only what the pairs name: their queries, positives and negatives."""
        skills = {pair.skill_id for pair in pairs.pairs if not pair.document}
        skills |= {skill for pair in pairs.pairs for skill in pair.negatives}
        documents = {skill: view.skill_texts(benchmark.corpus.get(skill), ledger) for skill in sorted(skills)}
        documents |= {key: view.skill_texts(skill, ledger) for key, skill in sorted(pairs.documents.items())}
        queries = {query_id: view.query_text(text, ledger) for query_id, text in pairs.query_texts.items()}
        return cls(queries, documents)

    def hash(self, pairs: Sequence[Pair]) -> str:
        """A hash of everything training sees: each pair's texts, answers and negatives, in order."""
        rows = (
            [
                self.queries[p.query_id],
                self.documents[p.document or p.skill_id],
                p.skill_id,
                sorted(p.answers),
                p.negatives,
            ]
            for p in pairs
        )
        return hash_text(*(json.dumps(row) for row in rows))


@dataclass(frozen=True)
class Chunking:
    """How the texts of a batch are put through the encoder: at most `tokens` tokens (padding included) and `rows` texts
    at a time, texts of like length together. It changes memory and speed, never the loss.
    """

    tokens: int
    rows: int | None


def collate_of(
    texts: TrainingTexts, encoder: BiEncoder, skill_ids: Sequence[str], chunking: Chunking, folder: Path
) -> RetrieverCollate:
    """The collate function over token stores in `folder`. skill_ids: the corpus's, which number the skills."""
    from skillfit.data.collate import RetrieverCollate

    queries = text_rows({key: (text,) for key, text in texts.queries.items()}, encoder, "query", chunking, folder)
    documents = text_rows(texts.documents, encoder, "document", chunking, folder)
    return RetrieverCollate(queries, documents, {skill_id: i for i, skill_id in enumerate(skill_ids)})


def text_rows(
    texts: Mapping[str, tuple[str, ...]], encoder: BiEncoder, kind: Kind, chunking: Chunking, folder: Path
) -> TextRows:
    """The texts tokenised once, each distinct one a row of the store."""
    from skillfit.data.collate import TextRows
    from skillfit.data.token_store import TokenStore
    from skillfit.models.tokens import features, length_batches, token_ids

    prompt = encoder.prompts[kind]
    number = {text: i for i, text in enumerate(dict.fromkeys(text for row in texts.values() for text in row))}
    tokenise = functools.partial(token_ids, encoder.model, prompt=prompt)
    what = {"query": "queries", "document": "documents"}[kind]
    key = hash_text(encoder.tokenizer_key(), str(encoder.max_length), prompt)
    return TextRows(
        store=TokenStore.build(list(number), tokenise, folder, key=key, what=what),
        rows={key: tuple(number[text] for text in row) for key, row in texts.items()},
        pad=functools.partial(features, encoder.model, prompt=prompt),
        cut=functools.partial(length_batches, tokens=chunking.tokens, most=chunking.rows),
    )
