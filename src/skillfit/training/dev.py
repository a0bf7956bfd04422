"""The dev evaluation of a retriever in training: rank the whole pool for the dev queries, as evaluate.py would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillfit.metrics.measures import Measure
from skillfit.metrics.scoring import score_run
from skillfit.metrics.stats import Interval, bootstrap_mean_interval
from skillfit.models.bi_encoder import BiEncoder
from skillfit.search.dense import rank_all
from skillfit.types import Qrels, Query


@dataclass(frozen=True)
class DevSet:
    """The dev queries with the pool they are ranked over. skill_texts: skill_id -> text, the whole pool."""

    queries: Sequence[Query]
    query_texts: Mapping[str, str]
    skill_texts: Mapping[str, str]
    qrels: Qrels
    measures: Sequence[Measure]
    batch_size: int

    def evaluate(self, encoder: BiEncoder) -> dict[str, Interval]:
        """Macro means of the measures by name, with bootstrap intervals; the model is left in the mode it came in."""
        import torch

        training = encoder.model.training
        encoder.model.eval()
        try:
            with torch.no_grad():
                skills = encoder.encode(list(self.skill_texts.values()), "document", batch_size=self.batch_size)
                texts = [self.query_texts[query.query_id] for query in self.queries]
                queries = encoder.encode(texts, "query", batch_size=self.batch_size)
        finally:
            encoder.model.train(training)
        depth = max(measure.cutoff for measure in self.measures)
        ids = [query.query_id for query in self.queries]
        run = rank_all(list(self.skill_texts), skills, ids, queries, depth)
        scores = score_run(run, self.queries, self.qrels, self.measures)
        return {measure.name: bootstrap_mean_interval(scores.values[measure.name]) for measure in self.measures}
