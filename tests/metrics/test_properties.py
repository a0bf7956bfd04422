"""What holds for every ranking."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from skillfit.metrics import parse_measure
from skillfit.metrics.full_coverage import full_coverage
from skillfit.metrics.hit import hit
from skillfit.metrics.mrr import reciprocal_rank
from skillfit.metrics.ndcg import ndcg
from skillfit.metrics.recall import recall
from skillfit.types import Run

SKILLS = [f"s{i}" for i in range(15)]
rankings = st.lists(st.sampled_from(SKILLS), unique=True)
gold = st.frozensets(st.sampled_from(SKILLS), min_size=1, max_size=6)
grades = st.dictionaries(st.sampled_from(SKILLS), st.integers(1, 5), min_size=1)
cutoffs = st.integers(1, 20)
names = st.sampled_from(["Hit", "MRR", "nDCG", "Recall", "FC", "Precision"])


@given(names, cutoffs, rankings, gold, grades)
def test_value_is_in_zero_one(name, k, ranked, required, relevances):
    assert 0.0 <= parse_measure(f"{name}@{k}").score(ranked, required, relevances) <= 1.0


@given(names, cutoffs, rankings, gold, grades, st.lists(st.sampled_from(["x", "y", "z"]), unique=True))
def test_irrelevant_tail_changes_nothing_below_k(name, k, ranked, required, relevances, tail):
    measure, head = parse_measure(f"{name}@{k}"), ranked[:k]
    assert measure.score(head, required, relevances) == measure.score([*head, *tail], required, relevances)
    assert measure.score(ranked, required, relevances) == measure.score(head, required, relevances)


@given(cutoffs, rankings, st.sampled_from(SKILLS))
def test_one_required_skill_makes_measures_agree(k, ranked, skill):
    found = ranked.index(skill) + 1 if skill in ranked[:k] else 0
    average_precision = 1 / found if found else 0.0  # precision at the place of the only right answer
    assert reciprocal_rank(ranked, {skill}, k) == average_precision
    assert math.isclose(ndcg(ranked, {skill: 3}, k), 1 / math.log2(found + 1) if found else 0.0)
    assert hit(ranked, {skill}, k) == recall(ranked, {skill}, k) == full_coverage(ranked, {skill}, k)


@given(cutoffs, rankings, gold)
def test_full_coverage_is_full_recall_and_implies_hit(k, ranked, required):
    covered = full_coverage(ranked, required, k)
    assert covered == float(recall(ranked, required, k) == 1.0)
    assert covered <= hit(ranked, required, k)


@given(rankings, gold, grades, st.sampled_from(["Hit", "MRR", "Recall", "FC"]), st.integers(1, 19))
def test_hit_mrr_recall_and_coverage_never_fall_with_k(ranked, required, relevances, name, k):
    low, high = parse_measure(f"{name}@{k}"), parse_measure(f"{name}@{k + 1}")
    assert low.score(ranked, required, relevances) <= high.score(ranked, required, relevances)


@given(grades, cutoffs, st.randoms(use_true_random=False))
def test_best_order_has_ndcg_one_and_no_order_beats_it(relevances, k, rng):
    best = sorted(relevances, key=relevances.__getitem__, reverse=True)
    shuffled = rng.sample(best, len(best))
    assert ndcg(best, relevances, k) == 1.0
    assert ndcg(shuffled, relevances, k) <= 1.0


@given(
    st.lists(st.tuples(st.sampled_from(SKILLS), st.sampled_from([0.0, 0.5, 1.0])), unique_by=lambda row: row[0]),
    st.randoms(use_true_random=False),
)
def test_order_of_ties_is_independent_of_the_input_order(rows, rng):
    run = Run.from_scores({"q": rows})
    assert Run.from_scores({"q": rng.sample(rows, len(rows))}).ranked("q") == run.ranked("q")
    keys = [(-score, skill) for skill, score in zip(run["q"].skill_ids, run["q"].scores, strict=True)] if rows else []
    assert keys == sorted(keys)
