from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from skillfit.analysis.compare import CompareOptions, compare
from skillfit.errors import UserError
from skillfit.metrics.stats import BootstrapOptions, holm, paired_bootstrap_difference, paired_permutation_test

QUICK = CompareOptions(n_resamples=300, permutations=500)


def test_differences_are_those_of_the_statistics_module(make_run):
    found = compare([make_run("a"), make_run("b", {"dense": 0.8}), make_run("c", {"hybrid": 0.6})], None, QUICK)
    values = {s.label: s.queries.values["nDCG@10"] for s in found.systems}
    raw = {}
    for system in ("dense", "hybrid"):
        d = found.find(system, "all", "nDCG@10").difference
        want = paired_bootstrap_difference(values[system], values["bm25"], BootstrapOptions(n_resamples=300))
        bounds = (d.difference, d.difference_low, d.difference_high)
        assert bounds == pytest.approx((want.value, want.low, want.high), abs=1e-12)
        test = paired_permutation_test(values[system], values["bm25"], n_resamples=500)
        assert d.p == test.p_value
        raw[system] = d.p
        delta = values[system] - values["bm25"]
        assert (d.wins, d.losses, d.ties) == ((delta > 0).sum(), (delta < 0).sum(), (delta == 0).sum())
        assert d.wins + d.losses + d.ties == 75
        z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
        assert d.detectable == pytest.approx(z * delta.std(ddof=1) / np.sqrt(75))
    adjusted = [found.find(s, "all", "nDCG@10").difference.p_holm for s in ("dense", "hybrid")]
    assert adjusted == holm([raw["dense"], raw["hybrid"]])


def test_values_are_recomputed_on_the_shared_queries(make_run):
    found = compare([make_run("a", n=75), make_run("b", {"dense": 0.8}, n=60)], None, QUICK)
    assert found.n == 60
    assert found.n_own == {"bm25": 75, "dense": 60}
    assert any("15 of 75 of bm25" in note for note in found.notes)
    cell = found.find("bm25", "all", "Recall@20")
    assert cell.row.n == 60
    assert cell.row.value == pytest.approx(found.systems[0].queries.values["Recall@20"].mean())
    for compared in found.rows:
        assert compared.row.low <= compared.row.value <= compared.row.high


def test_queries_are_paired_by_id_whatever_their_order(make_run):
    def shuffled(pieces: dict[str, Any]) -> None:
        pieces["per_query"].reverse()

    straight = compare([make_run("a"), make_run("b", {"dense": 0.8})], None, QUICK)
    turned = compare([make_run("c"), make_run("d", {"dense": 0.8}, edit=shuffled)], None, QUICK)
    key = ("dense", "all", "MRR@10")
    assert turned.find(*key) == straight.find(*key)


def test_only_all_single_and_multi_are_tested(make_run):
    found = compare([make_run("a"), make_run("b", {"dense": 0.8})], None, QUICK)
    tested = {c.row.group for c in found.rows if c.difference}
    assert tested == {"all", "single", "multi"}
    assert any(c.row.group == "family=log-triage" for c in found.rows)
    assert all(c.difference is None for c in found.rows if c.row.system == "bm25")


def test_equal_systems_differ_in_nothing(make_run):
    def renamed(pieces: dict[str, Any]) -> None:
        for row in (*pieces["rows"], *pieces["worst"], *pieces["per_query"]):
            row["system"] = "copy"

    found = compare([make_run("a"), make_run("b", edit=renamed)], None, QUICK)
    d = found.find("copy", "all", "Hit@1").difference
    assert (d.difference, d.p, d.p_holm, d.wins, d.losses, d.ties) == (0, 1, 1, 0, 0, 75)
    assert d.detectable is None


def test_clashing_names_get_their_folder(make_run):
    found = compare([make_run("x/one"), make_run("y/one"), make_run("z", {"dense": 0.7})], None, QUICK)
    assert [s.label for s in found.systems] == ["bm25 (x/one)", "bm25 (y/one)", "dense"]


def test_the_baseline_by_label_by_name_and_by_folder(make_run):
    folders = [make_run("a"), make_run("b", {"bm25": 0.6}), make_run("c", {"dense": 0.8, "hybrid": 0.9})]
    assert compare(folders, None, QUICK).baseline == "bm25 (a)"
    assert compare(folders, "bm25 (b)", QUICK).baseline == "bm25 (b)"
    assert compare(folders, folders[1], QUICK).baseline == "bm25 (b)"
    assert compare(folders, "hybrid", QUICK).baseline == "hybrid"
    for several in ("bm25", folders[2]):
        with pytest.raises(UserError, match="means 2 systems; name one of"):
            compare(folders, several, QUICK)
    with pytest.raises(UserError, match=r"hybird.*did you mean hybrid"):
        compare(folders, "hybird", QUICK)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"benchmark": "triggers"}, "benchmark: skillsbench in .*/a, triggers in .*/b"),
        ({"corpus_hash": "bbbb"}, "corpus_hash: aaaa in .*/a, bbbb in .*/b"),
    ],
)
def test_what_cannot_be_compared_is_refused_naming_both(make_run, change, told):
    with pytest.raises(UserError, match=told):
        compare([make_run("a"), make_run("b", **change)], None, QUICK)


def _profile_sr(pieces: dict[str, Any]) -> None:
    pieces["provenance"]["config"]["profile"] = "sr"


def _other_judgement(pieces: dict[str, Any]) -> None:
    pieces["per_query"][7]["n_required"] = 5


def _other_queries(pieces: dict[str, Any]) -> None:
    for row in pieces["per_query"]:
        row["query_id"] = f"other-{row['query_id']}"


@pytest.mark.parametrize(
    ("edit", "told"),
    [(_profile_sr, "profile"), (_other_judgement, "query = 'q007'"), (_other_queries, "no query is scored in all")],
)
def test_runs_scored_or_judged_differently_are_refused(make_run, edit, told):
    with pytest.raises(UserError, match=told) as caught:
        compare([make_run("a"), make_run("b", edit=edit)], None, QUICK)
    assert "/a and " in str(caught.value)


def test_one_folder_twice_and_none_are_refused(make_run):
    path = make_run("a")
    (path.parent / "x").mkdir()
    with pytest.raises(UserError, match="named twice"):
        compare([path, path.parent / "x" / ".." / "a"], None, QUICK)
    with pytest.raises(UserError, match="name the run folders"):
        compare([], None, QUICK)


def test_json_has_the_row_form_and_the_same_numbers_twice(make_run):
    folders = [make_run("a"), make_run("b", {"dense": 0.8})]
    first, second = (compare(folders, None, QUICK).as_json() for _ in range(2))
    assert json.dumps(first["rows"]) == json.dumps(second["rows"])
    needed = {"suite", "benchmark", "system", "group", "metric", "value", "low", "high", "n", "difference", "p_holm"}
    assert all(needed <= set(row) for row in first["rows"])
    assert first["provenance"]["systems"]["dense"]["folder"] == str(folders[1])


def test_a_metric_not_in_all_runs_is_left_out_and_told(make_run):
    def without(pieces: dict[str, Any]) -> None:
        pieces["rows"] = [row for row in pieces["rows"] if row["metric"] != "FC@10"]

    found = compare([make_run("a"), make_run("b", {"dense": 0.8}, edit=without)], None, QUICK)
    assert "FC@10" not in found.metrics
    assert any("FC@10" in note for note in found.notes)
