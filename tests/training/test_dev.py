"""The dev evaluation ranks as evaluate.py does."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import WORDS, ListPool
from skillfit.data.passages import PassageOptions
from skillfit.data.views import TextView
from skillfit.metrics.measures import parse_measures
from skillfit.metrics.scoring import score_run
from skillfit.models.bi_encoder import BiEncoder
from skillfit.search.dense import DenseRetriever
from skillfit.training.dev import DevSet
from skillfit.types import Qrels, Query, Skill

RNG = np.random.default_rng(5)
POOL = ListPool(
    [
        Skill(f"s{i:02d}", f"name {i % 7}", "read", "\n\n".join(" ".join(RNG.choice(WORDS, 9)) for _ in range(i % 4)))
        for i in range(30)
    ]
)
QUERIES = [Query(f"q{i}", " ".join(RNG.choice(WORDS, 6))) for i in range(12)]
QRELS = Qrels({query.query_id: frozenset({f"s{i:02d}"}) for i, query in enumerate(QUERIES)})
MEASURES = parse_measures(["Hit@1", "nDCG@10", "MRR@10"], place="test")


@pytest.mark.parametrize("score", ["max", "mean"])
def test_dev_values_are_those_of_a_search(tiny_encoder, score):
    view = TextView(
        name="p", fields=("name", "description", "body"), passages=PassageOptions(size=60, most=3, score=score)
    )
    texts = {skill.skill_id: view.skill_texts(skill) for skill in POOL}
    encoder = BiEncoder.load(str(tiny_encoder))
    encoder.model.train()
    dev = DevSet(QUERIES, {q.query_id: q.text for q in QUERIES}, texts, QRELS, MEASURES, 8, score)
    found = dev.evaluate(encoder)
    assert encoder.model.training
    run, _ = DenseRetriever(view=view, model=str(tiny_encoder), depth=10).search(POOL, QUERIES)
    expected = score_run(run, QUERIES, QRELS, MEASURES)
    assert {name: interval.value for name, interval in found.items()} == {
        measure.name: pytest.approx(expected.values[measure.name].mean()) for measure in MEASURES
    }
    assert len({interval.value for interval in found.values()}) > 1


def test_each_distinct_text_is_encoded_once(tiny_encoder, monkeypatch):
    view = TextView(name="nd", fields=("name",))
    texts = {skill.skill_id: view.skill_texts(skill) for skill in POOL}
    encoder, seen = BiEncoder.load(str(tiny_encoder)), []
    forward = encoder.model.forward
    monkeypatch.setattr(encoder.model, "forward", lambda batch: seen.append(len(batch["input_ids"])) or forward(batch))
    DevSet(QUERIES, {q.query_id: q.text for q in QUERIES}, texts, QRELS, MEASURES, 8).evaluate(encoder)
    assert sum(seen) == 7 + len(QUERIES)
