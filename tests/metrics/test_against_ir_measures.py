"""Random runs scored by another evaluator, which gets strictly falling scores made from our order: its own tie rules
differ from measure to measure."""

from __future__ import annotations

import random

import pytest

from skillfit.metrics import parse_measure, parse_measures, score_run, summarise
from skillfit.types import Qrels, Query, Run

ir_measures = pytest.importorskip("ir_measures", reason="the reference evaluator is not installed")
THEIRS = {"nDCG": "nDCG", "Recall": "R", "MRR": "RR", "Precision": "P", "Hit": "Success"}


def random_case(seed):
    rng = random.Random(seed)
    skills = [f"s{i}" for i in range(60)]
    queries, scores, required, grades = [], {}, {}, {}
    for i in range(40):
        query_id = f"q{i}"
        queries.append(Query(query_id, ""))
        right = rng.sample(skills, rng.randint(1, 6))
        required[query_id] = frozenset(right)
        if rng.random() < 0.7:  # the others have no grades and fall back to the required skills
            weak = rng.sample(sorted(set(skills) - set(right)), 4)
            grades[query_id] = {**dict.fromkeys(right, 3), **dict.fromkeys(weak[:3], 1), weak[3]: 0}
        if rng.random() < 0.85:  # the others are missing from the run
            found = rng.sample(skills, rng.choice([1, 3, 8, 25, 60]))
            scores[query_id] = [(skill, rng.randint(0, 5) / 5) for skill in found]  # many ties
    return Run.from_scores(scores), queries, Qrels(required, grades)


def as_theirs(run, queries, qrels, *, graded):
    judged = [
        ir_measures.Qrel(q.query_id, skill, grade)
        for q in queries
        for skill, grade in (
            qrels.relevances(q.query_id) if graded else dict.fromkeys(qrels.required[q.query_id], 1)
        ).items()
    ]
    scored = [
        ir_measures.ScoredDoc(query_id, skill, float(-rank))
        for query_id in run
        for rank, skill in enumerate(run.ranked(query_id))
    ]
    return judged, scored


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 3, 10, 50])
@pytest.mark.parametrize("family", THEIRS)
def test_values_and_mean_equal_ir_measures(family, k, seed):
    run, queries, qrels = random_case(seed)
    measure, theirs = parse_measure(f"{family}@{k}"), ir_measures.parse_measure(f"{THEIRS[family]}@{k}")
    judged, scored = as_theirs(run, queries, qrels, graded=family == "nDCG")
    ours = score_run(run, queries, qrels, [measure])
    expected = dict.fromkeys((q.query_id for q in queries), 0.0)
    expected |= {row.query_id: row.value for row in ir_measures.iter_calc([theirs], judged, scored)}
    assert 0 < ours.counts.missing < len(queries)
    for i, query_id in enumerate(ours.query_ids):
        assert ours.values[measure.name][i] == pytest.approx(expected[query_id], abs=1e-12), query_id
    mean = ir_measures.calc_aggregate([theirs], judged, scored)[theirs]
    assert summarise(ours)[0].value == pytest.approx(mean, abs=1e-12)


def test_up_37_one_tie_rule_and_mrr_equals_map_for_one_required_skill():
    """A constant scorer looks the same wherever the right skill stands in its file, and MRR@k equals AP@k."""
    skills = [f"s{i}" for i in range(12)]
    queries, qrels = [Query("q", "")], Qrels({"q": frozenset({"s3"})})
    for order in (["s3", *skills[:3], *skills[4:]], [*skills[:3], *skills[4:], "s3"]):
        run = Run.from_scores({"q": [(skill, 1.0) for skill in order]})
        scores = score_run(run, queries, qrels, parse_measures(["MRR@10", "Hit@1", "nDCG@10", "Recall@3"]))
        assert {name: column[0] for name, column in scores.values.items()} == {
            "MRR@10": 1 / 6,  # ids ascending: s0 s1 s10 s11 s2 s3
            "Hit@1": 0.0,
            "nDCG@10": pytest.approx(0.3562, abs=1e-4),
            "Recall@3": 0.0,
        }
        judged, scored = as_theirs(run, queries, qrels, graded=False)
        average_precision = ir_measures.calc_aggregate([ir_measures.AP @ 10], judged, scored)[ir_measures.AP @ 10]
        assert average_precision == pytest.approx(1 / 6)
