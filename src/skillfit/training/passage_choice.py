"""Training on the passages that matter: of each skill the few that fit the query best, by the start weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skillfit.data.examples import Pair, PairSet
from skillfit.training.retriever_data import TrainingTexts

if TYPE_CHECKING:
    from skillfit.models.bi_encoder import BiEncoder
    from skillfit.models.encoding import Precision


def choose_passages(
    pairs: PairSet, texts: TrainingTexts, encoder: BiEncoder, most: int, dtype: Precision
) -> tuple[PairSet, TrainingTexts]:
    """The same pairs, each with the `most` passages of its skill that score best with its query.

    A skill that serves as a mined negative keeps the passages that score best with any of the queries it is mined for.
    Search and dev evaluation still read all passages; in training the others would be encoded for a score that the best
    one decides.
    """
    passages = list(dict.fromkeys(text for row in texts.documents.values() for text in row))
    number = {text: i for i, text in enumerate(passages)}
    vectors = encoder.encode(passages, "document", dtype=dtype)
    asked = list(texts.queries)
    queries = dict(zip(asked, encoder.encode([texts.queries[q] for q in asked], "query", dtype=dtype), strict=True))

    def best(row: Sequence[str], query_ids: Sequence[str]) -> tuple[str, ...]:
        if len(row) <= most:
            return tuple(row)
        scores = np.stack([queries[q] for q in query_ids]) @ vectors[[number[text] for text in row]].T
        chosen = np.argsort(-scores.max(axis=0), kind="stable")[:most]
        return tuple(row[i] for i in sorted(chosen))

    documents: dict[str, tuple[str, ...]] = {}
    mined: dict[str, list[str]] = {}
    made: list[Pair] = []
    for pair in pairs.pairs:
        for skill_id in pair.negatives:
            mined.setdefault(skill_id, []).append(pair.query_id)
        own = texts.documents[pair.document or pair.skill_id]
        chosen = best(own, [pair.query_id])
        key = f"{pair.document or pair.skill_id}#{','.join(str(own.index(text)) for text in chosen)}"
        documents[key] = chosen
        made.append(replace(pair, document=key))
    documents |= {skill_id: best(texts.documents[skill_id], asking) for skill_id, asking in mined.items()}
    return replace(pairs, pairs=tuple(made)), TrainingTexts(texts.queries, documents)
