"""The complaints about routing evaluation that users bring, UP-38 to UP-42 (UP-37 is with the other evaluator)."""

from __future__ import annotations

import math

import pytest

from skillfit.errors import UserError
from skillfit.io.jsonl import write_json
from skillfit.io.qrels import parse_grade, read_qrels, required_from
from skillfit.io.runs import read_run
from skillfit.metrics import DEFAULT_MEASURES, parse_measures, score_run, summarise
from skillfit.types import Qrels, Query, Run

ALL = parse_measures(["Hit@1", "MRR@10", "nDCG@10", "Recall@10", "FC@10", "Precision@3"])


def test_up_38_a_skill_returned_twice_is_refused_and_named(tmp_path):
    file = tmp_path / "run.txt"
    file.write_text("q1 Q0 s1 1 3.0 x\nq1 Q0 s1 2 2.0 x\nq1 Q0 s2 3 1.0 x\n")
    with pytest.raises(UserError, match=r"run\.txt: query q1: skill = 's1': listed twice"):
        read_run(file)


def test_up_38_repeats_in_the_judgements_do_not_change_the_ideal(tmp_path):
    once, twice = tmp_path / "once.txt", tmp_path / "twice.txt"
    once.write_text("q1 0 s1 1\n")
    twice.write_text("q1 0 s1 1\nq1 0 s1 1\n")
    assert read_qrels(once) == read_qrels(twice)
    qrels = Qrels(required_from(read_qrels(twice)), read_qrels(twice))
    scores = score_run(Run.from_order({"q1": ["s1", "s2"]}), [Query("q1", "")], qrels, ALL[:5])
    assert [column[0] for column in scores.values.values()] == [1.0] * 5


def test_up_39_the_ideal_holds_right_answers_that_were_not_retrieved():
    qrels = Qrels({"q": frozenset({"s1", "s2", "s3"})})
    run = Run.from_order({"q": ["s1"]})
    value = score_run(run, [Query("q", "")], qrels, parse_measures(["nDCG@10", "nDCG@1"])).values
    assert value["nDCG@10"][0] == pytest.approx(1 / (1 + 1 / math.log2(3) + 1 / 2))
    assert value["nDCG@1"][0] == 1.0  # cut at k


@pytest.mark.parametrize("nothing_right", [{}, {"q2": frozenset()}])
@pytest.mark.parametrize("grades", [{}, {"q2": {"s9": 0}}])
def test_up_40_a_query_without_right_answers_never_changes_its_neighbours(nothing_right, grades):
    right = {"q1": frozenset({"a"}), "q3": frozenset({"b"})}
    run = Run.from_order({"q1": ["a"], "q2": ["s9"], "q3": ["x", "b"]})
    queries = [Query(q, "") for q in ("q1", "q2", "q3")]
    with_it = score_run(run, queries, Qrels({**right, **nothing_right}, grades), ALL)
    without = score_run(run, [queries[0], queries[2]], Qrels(right), ALL)
    assert summarise(with_it) == summarise(without)
    assert with_it.counts.none + with_it.counts.unjudged == 1
    assert all(math.isfinite(number) for row in summarise(with_it) for number in (row.value, row.low, row.high))


def test_up_41_an_evaluation_does_not_depend_on_the_ones_before():
    queries = [Query(f"q{i}", "") for i in range(20)]
    qrels = Qrels({q.query_id: frozenset({f"s{i % 5}"}) for i, q in enumerate(queries)})
    first = Run.from_scores({q.query_id: [(f"s{j}", float(-j)) for j in range(5)] for q in queries})
    second = Run.from_scores({q.query_id: [(f"s{j}", float(j)) for j in range(5)] for q in queries})
    alone = summarise(score_run(second, queries, qrels, DEFAULT_MEASURES))
    one_before = summarise(score_run(first, queries, qrels, DEFAULT_MEASURES))
    assert summarise(score_run(second, queries, qrels, DEFAULT_MEASURES)) == alone
    assert one_before != alone


@pytest.mark.parametrize("grade", ["0.5", "-1", "true", "1.0", "1e0", "٣", "one", "9999999999"])
def test_up_42_a_grade_that_is_no_integer_is_refused_with_its_place(tmp_path, grade):
    file = tmp_path / "qrels.txt"
    file.write_text(f"q1 0 s1 1\nq1 0 s2 {grade}\n", encoding="utf-8")
    with pytest.raises(UserError, match=rf"qrels\.txt:2: grade = '{grade}': use an integer >= 0"):
        read_qrels(file)


def test_up_42_integers_as_numbers_or_text_are_accepted_and_json_values_refused():
    assert [parse_grade(value, "x") for value in (0, 3, "1", " 2 ")] == [0, 3, 1, 2]
    for wrong in (True, False, 0.5, 1.0, -1, None, [1], math.nan):
        with pytest.raises(UserError, match="use an integer >= 0"):
            parse_grade(wrong, "relevance.json: task t, skill s")


def test_missing_predictions_lower_the_mean_and_are_counted(tmp_path):
    write_json(tmp_path / "predictions.json", {"q1": ["a"]})
    queries, qrels = [Query("q1", ""), Query("q2", "")], Qrels(dict.fromkeys(("q1", "q2"), frozenset({"a"})))
    run = read_run(tmp_path / "predictions.json")
    ours = score_run(run, queries, qrels, ALL)
    theirs = score_run(run, queries, qrels, ALL, profile="sr", pool_ids={"a"})
    assert summarise(ours)[0].value == 0.5
    assert summarise(theirs)[0].value == 1.0
    assert ours.counts.missing == theirs.counts.missing == 1
