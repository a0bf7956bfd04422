"""The dev evaluation of a retriever in training: rank the whole pool for the dev queries, as evaluate.py would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skillfit.data.passages import PassageScore
from skillfit.metrics.measures import Measure
from skillfit.metrics.scoring import score_run
from skillfit.metrics.stats import Interval, bootstrap_mean_interval
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.encoding import Precision
from skillfit.search.exact import rank_all
from skillfit.types import Qrels, Query


@dataclass(frozen=True)
class DevSet:
    """The dev queries with the pool they are ranked over.

    skill_texts: skill_id -> its texts (passages, or one), the whole pool. score: how a skill scores by its texts.
    dtype: of the weights while they encode.
    """

    queries: Sequence[Query]
    query_texts: Mapping[str, str]
    skill_texts: Mapping[str, tuple[str, ...]]
    qrels: Qrels
    measures: Sequence[Measure]
    batch_size: int
    score: PassageScore = "max"
    dtype: Precision = "float32"

    def evaluate(self, encoder: BiEncoder) -> dict[str, Interval]:
        """Macro means of the measures by name, with bootstrap intervals; the model is left in the mode it came in."""
        texts = [text for several in self.skill_texts.values() for text in several]
        starts = np.concatenate(
            [[0], np.cumsum([len(several) for several in self.skill_texts.values()], dtype=np.int64)]
        )
        skills = encoder.encode(texts, "document", batch_size=self.batch_size, dtype=self.dtype)
        asked = [self.query_texts[query.query_id] for query in self.queries]
        queries = encoder.encode(asked, "query", batch_size=self.batch_size, dtype=self.dtype)
        depth = max(measure.cutoff for measure in self.measures)
        ids = [query.query_id for query in self.queries]
        run = rank_all(list(self.skill_texts), skills, ids, queries, depth, starts=starts, score=self.score)
        scores = score_run(run, self.queries, self.qrels, self.measures)
        return {measure.name: bootstrap_mean_interval(scores.values[measure.name]) for measure in self.measures}
