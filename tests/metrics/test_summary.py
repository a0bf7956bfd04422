from __future__ import annotations

import time

import numpy as np
import pytest

from skillfit.errors import UserError
from skillfit.metrics import BootstrapOptions, bootstrap_mean_interval, parse_measures, score_run, summarise
from skillfit.types import Qrels, Query, Run

MEASURES = parse_measures(["Hit@1", "MRR@10"])


def scored(n=30, axes=("domain",), measures=MEASURES):
    rng = np.random.default_rng(3)
    queries = [Query(f"q{i:04}", "", {axis: "ab"[i % 2] for axis in axes}) for i in range(n)]
    required = {q.query_id: frozenset(f"s{j}" for j in range(1 + i % 3)) for i, q in enumerate(queries)}
    run = Run.from_order({q.query_id: [f"s{j}" for j in rng.permutation(12)] for q in queries})
    return score_run(run, queries, Qrels(required), measures)


def test_groups_and_order():
    rows = summarise(scored(), ["domain"])
    assert [row.group for row in rows[::2]] == ["all", "single", "multi", "domain=a", "domain=b"]
    assert [row.measure for row in rows[:2]] == ["Hit@1", "MRR@10"]
    assert [row.n for row in rows[::2]] == [30, 10, 20, 15, 15]


def test_value_is_the_macro_mean_and_the_interval_that_of_the_group():
    scores, options = scored(), BootstrapOptions(n_resamples=500, seed=5)
    rows = {(row.group, row.measure): row for row in summarise(scores, ["domain"], options)}
    members = [i for i, groups in enumerate(scores.groups) if groups["domain"] == "b"]
    column = scores.values["MRR@10"][members]
    row = rows["domain=b", "MRR@10"]
    assert row.value == pytest.approx(column.mean())
    expected = bootstrap_mean_interval(column, options)
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high))
    assert row.low < row.value < row.high


def test_all_is_the_weighted_mean_of_single_and_multi():
    rows = {(row.group, row.measure): row for row in summarise(scored())}
    for name in ("Hit@1", "MRR@10"):
        single, multi = rows["single", name], rows["multi", name]
        assert rows["all", name].value == pytest.approx((10 * single.value + 20 * multi.value) / 30)


def test_measures_share_their_resamples():
    scores = scored()
    scores.values["Hit@1"][:] = 1 - scores.values["MRR@10"]  # a mirror image on the same resamples mirrors the bounds
    hit, mrr = summarise(scores)[:2]
    assert (1 - hit.high, 1 - hit.low) == pytest.approx((mrr.low, mrr.high), abs=1e-12)


def test_same_seed_same_rows_and_another_seed_others():
    assert summarise(scored()) == summarise(scored())
    assert summarise(scored(), bootstrap=BootstrapOptions(seed=1)) != summarise(scored())


def test_group_does_not_depend_on_the_groups_asked_for():
    assert summarise(scored(), ["domain"])[:6] == summarise(scored())


def test_empty_groups_have_no_row_and_one_query_an_interval_of_no_width():
    queries, qrels = [Query("q", "")], Qrels({"q": frozenset("a")})
    rows = summarise(score_run(Run.from_order({"q": "xa"}), queries, qrels, MEASURES))
    assert [(row.group, row.value, row.low, row.high, row.n) for row in rows if row.measure == "MRR@10"] == [
        ("all", 0.5, 0.5, 0.5, 1),
        ("single", 0.5, 0.5, 0.5, 1),
    ]


def test_query_silent_on_an_axis_is_not_lost():
    queries = [Query("p", "", {"domain": "x"}), Query("q", "")]
    qrels = Qrels(dict.fromkeys("pq", frozenset("a")))
    rows = summarise(score_run(Run.from_order({"p": "a", "q": "a"}), queries, qrels, MEASURES), ["domain", "size"])
    assert [row.group for row in rows[::2]] == ["all", "single", "domain=(not given)", "domain=x"]


def test_unknown_axis_is_named():
    with pytest.raises(UserError, match="group axis = 'domian': did you mean domain"):
        summarise(scored(), ["domian"])


def test_nothing_scored_is_no_result():
    nothing = score_run(Run({}), [Query("q", "")], Qrels({}), MEASURES)
    with pytest.raises(UserError, match="of 1 given; left out: none 0, unjudged 1"):
        summarise(nothing)


def test_ten_groups_of_750_queries_and_seven_measures_take_under_two_seconds():
    axes = [f"axis{i}" for i in range(7)]
    scores = scored(750, axes, parse_measures(["Hit@1", "MRR@10", "nDCG@10", "Recall@1", "Recall@5", "FC@10", "FC@5"]))
    for groups in scores.groups:
        groups.update(dict.fromkeys(axes, "same"))
    started = time.perf_counter()
    rows = summarise(scores, axes)
    assert time.perf_counter() - started < 2
    assert len(rows) == 70
    assert sum(row.n == 750 for row in rows) == 56
