from __future__ import annotations

import math

import numpy as np
import pytest

from skillfit.errors import UserError
from skillfit.metrics import paired, parse_measures, score_run
from skillfit.types import Qrels, Query, Run

MEASURES = parse_measures(["Hit@1", "MRR@10", "nDCG@10", "Recall@10", "FC@10", "Precision@3"])
QUERIES = [
    Query("single", "", {"domain": "office"}),
    Query("multi", "", {"domain": "code"}),
    Query("absent", ""),
    Query("nothing", ""),
    Query("declared", "", {"size": "none"}),
    Query("unknown", ""),
]
QRELS = Qrels({"single": frozenset("a"), "multi": frozenset("bc"), "absent": frozenset("a"), "nothing": frozenset()})
RUN = Run.from_order({"single": "xa", "multi": "bxc", "nothing": "xy", "other": "a"})


def test_default_rule_counts_missing_as_zero_and_leaves_out_what_has_no_answer():
    scores = score_run(RUN, QUERIES, QRELS, MEASURES)
    assert scores.query_ids == ("single", "multi", "absent")
    assert scores.values["MRR@10"].tolist() == [0.5, 1.0, 0.0]
    assert scores.values["FC@10"].tolist() == [1.0, 1.0, 0.0]
    assert all(column[2] == 0 for column in scores.values.values())
    assert scores.first_required.tolist() == [2, 1, 0]
    assert scores.n_required.tolist() == [1, 2, 1]
    assert scores.answered.tolist() == [True, True, False]
    assert [group["size"] for group in scores.groups] == ["single", "multi", "single"]
    assert scores.left_out == {"nothing": "none", "declared": "none", "unknown": "unjudged"}
    counts = scores.counts
    assert (counts.queries, counts.scored, counts.none, counts.unjudged, counts.missing) == (6, 3, 2, 1, 1)
    assert (counts.outside_pool, counts.repeats, counts.unknown) == (0, 0, 1)
    assert counts.queries == counts.scored + counts.none + counts.unjudged


def test_rows_are_plain_records():
    row = next(score_run(RUN, QUERIES, QRELS, parse_measures(["MRR@10"])).rows())
    assert row == {
        "query_id": "single",
        "size": "single",
        "n_required": 1,
        "answered": True,
        "first_rank": 2,
        "MRR@10": 0.5,
        "group:domain": "office",
    }
    assert [type(value) for value in row.values()] == [str, str, int, bool, int, float, str]


def test_empty_answer_is_an_answer_that_scores_zero():
    run = Run.from_order({"single": [], "multi": "bc"})
    scores = score_run(run, QUERIES[:2], QRELS, MEASURES)
    assert scores.answered.tolist() == [True, True]
    assert scores.counts.missing == 0
    assert scores.values["Hit@1"].tolist() == [0.0, 1.0]


def test_run_without_any_answer_is_all_missing():
    scores = score_run(Run({}), QUERIES, QRELS, MEASURES)
    assert scores.counts.missing == scores.counts.scored == 3
    assert not any(column.any() for column in scores.values.values())


def test_grades_are_independent_of_the_required_skills():
    qrels = Qrels({"q": frozenset("a")}, {"q": {"a": 3, "aux": 3, "copy": 1}})
    scores = score_run(Run.from_order({"q": ["aux", "copy"]}), [Query("q", "")], qrels, MEASURES)
    best = 3 + 3 / math.log2(3) + 1 / 2
    assert scores.values["nDCG@10"][0] == pytest.approx((3 + 1 / math.log2(3)) / best)
    assert scores.values["Hit@1"][0] == 0.0
    assert scores.first_required[0] == 0


def test_default_profile_refuses_judged_skills_outside_the_pool():
    with pytest.raises(UserError, match=r"qrels: skill = 'b'.*2 judged skills"):
        score_run(RUN, QUERIES, QRELS, MEASURES, pool_ids={"a", "x"})
    assert score_run(RUN, QUERIES, QRELS, MEASURES, pool_ids=set("abcx")).counts.scored == 3


def test_sr_skips_missing_and_cuts_to_the_pool():
    scores = score_run(RUN, QUERIES, QRELS, MEASURES, profile="sr", pool_ids=set("bx"))
    assert scores.query_ids == ("multi",)
    assert scores.n_required.tolist() == [1]
    assert scores.groups[0]["size"] == "multi"  # by the size before the cut
    assert scores.values["Recall@10"].tolist() == [1.0]
    assert scores.values["nDCG@10"].tolist() == [1.0]  # binary over what is in the pool
    assert scores.left_out["absent"] == "missing"
    assert scores.left_out["single"] == "outside_pool"
    counts = scores.counts
    assert counts.queries == counts.scored + counts.none + counts.unjudged + counts.missing + counts.outside_pool


def test_sr_ideal_differs_between_pools():
    qrels = Qrels({"q": frozenset("a")}, {"q": {"a": 3, "degraded": 1}})
    run = Run.from_order({"q": "a"})
    easy = score_run(run, [Query("q", "")], qrels, MEASURES, profile="sr", pool_ids={"a"})
    hard = score_run(run, [Query("q", "")], qrels, MEASURES, profile="sr", pool_ids={"a", "degraded"})
    assert easy.values["nDCG@10"][0] == 1.0
    assert hard.values["nDCG@10"][0] == pytest.approx(3 / (3 + 1 / math.log2(3)))


def test_sr_keeps_repeats_and_counts_them():
    run = Run.from_order({"multi": ["b", "b", "c"]}, allow_repeats=True)
    scores = score_run(run, QUERIES[1:2], QRELS, MEASURES, profile="sr", pool_ids=set("bc"))
    assert scores.counts.repeats == 1
    assert scores.values["Precision@3"][0] == 1.0
    assert scores.values["Recall@10"][0] == 1.0
    assert scores.values["nDCG@10"][0] > 1.0
    with pytest.raises(UserError, match="query multi: skill = 'b': listed twice"):
        score_run(run, QUERIES[1:2], QRELS, MEASURES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"profile": "SR"}, "profile = 'SR'.*known: default, sr"),
        ({"profile": "sr"}, "pool_ids"),
        ({"queries": [QUERIES[0], QUERIES[0]]}, "query_id = 'single': stands for two"),
        ({"run": Run.from_order({"elsewhere": "a"})}, "none of them is a query's.*'elsewhere'.*'single'"),
    ],
)
def test_wrong_input_is_named(change, message):
    arguments = {"run": RUN, "queries": QUERIES, "qrels": QRELS, "measures": MEASURES, **change}
    with pytest.raises(UserError, match=message):
        score_run(**arguments)


def broken(ranked, required, k):
    return math.nan


def test_own_measure_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match=r"broken@1 of query single is nan"):
        score_run(RUN, QUERIES, QRELS, parse_measures([f"{__name__}.broken@1"]))


def test_paired_aligns_by_query_id():
    first = score_run(RUN, QUERIES, QRELS, MEASURES)
    second = score_run(RUN, QUERIES[::-1], QRELS, MEASURES)
    a, b = paired(first, second, "MRR@10")
    assert a.tolist() == b.tolist() == [0.5, 1.0, 0.0]
    assert second.values["MRR@10"].tolist() != a.tolist()


def test_paired_refuses_other_queries_and_unknown_measures():
    first = score_run(RUN, QUERIES, QRELS, MEASURES)
    with pytest.raises(UserError, match="absent"):
        paired(first, score_run(RUN, QUERIES[:2], QRELS, MEASURES), "Hit@1")
    with pytest.raises(UserError, match="did you mean Hit@1"):
        paired(first, first, "Hit@2")


def test_values_are_float_columns_of_the_scored_queries():
    scores = score_run(RUN, QUERIES, QRELS)
    assert list(scores.values) == ["Hit@1", "MRR@10", "nDCG@10", "Recall@10", "Recall@20", "Recall@50", "FC@10"]
    assert {(column.dtype, column.shape) for column in scores.values.values()} == {(np.dtype(np.float64), (3,))}
