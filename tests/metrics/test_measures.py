from __future__ import annotations

import pytest

from skillfit.errors import UserError
from skillfit.metrics import DEFAULT_MEASURES, parse_measure, parse_measures
from skillfit.metrics.ndcg import ndcg


def depth(ranked, required, k):
    return float(len(ranked[:k]))


def gain(ranked, relevances, k):
    return float(sum(relevances.get(skill, 0) for skill in ranked[:k]))


def wrong_parameters(ranking, gold):
    return 0.0


def test_defaults_are_the_papers():
    names = [measure.name for measure in DEFAULT_MEASURES]
    assert names == ["Hit@1", "MRR@10", "nDCG@10", "Recall@10", "Recall@20", "Recall@50", "FC@10"]


@pytest.mark.parametrize("name", ["Hit@1", "MRR@10", "nDCG@5", "Recall@50", "FC@10", "Precision@3", "Recall@123456"])
def test_name_gives_its_cutoff_and_a_working_function(name):
    measure = parse_measure(name)
    assert (measure.name, measure.cutoff) == (name, int(name.partition("@")[2]))
    assert 0 < measure.score(["s"], frozenset({"s"}), {"s": 1}) <= 1


def test_only_ndcg_reads_grades():
    assert [m.name for m in parse_measures(["Hit@1", "nDCG@1", "FC@1"]) if m.is_graded] == ["nDCG@1"]
    assert parse_measure("nDCG@10").function is ndcg
    assert parse_measure("nDCG@1").score(["b"], frozenset({"a"}), {"a": 3, "b": 1}) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ndcg@10", "did you mean nDCG@10?"),
        ("HIT@1", "did you mean Hit@1?"),
        ("P@3", "did you mean Precision@3?"),
        ("RR@10", "did you mean MRR@10?"),
        ("Success@1", "did you mean Hit@1?"),
        ("full_coverage@10", "did you mean FC@10?"),
        ("Recal@10", "did you mean Recall?"),
        ("zzz@10", "known: FC, Hit, MRR, Precision, Recall, nDCG"),
        ("MRR", "MRR@10"),
        ("MRR@0", "cutoff >= 1"),
        ("MRR@-1", "cutoff >= 1"),
        ("MRR@1.5", "cutoff >= 1"),
        ("MRR@ten", "cutoff >= 1"),
        ("MRR@010", "cutoff >= 1"),
        ("MRR@1@2", "cutoff >= 1"),
        ("", "cutoff >= 1"),
        (None, "cutoff >= 1"),
        (10, "cutoff >= 1"),
        ("no_such_package.depth@3", "no such function"),
        ("skillfit.metrics.hit.nothing@3", "no such function"),
        (".depth@3", "no such function"),
        ("math.sqrt@3", "must take"),
    ],
)
def test_wrong_name_tells_the_way_out(name, hint):
    with pytest.raises(UserError, match="measure") as caught:
        parse_measure(name, place="conf/suite/routing.yaml")
    assert hint in str(caught.value)
    assert str(caught.value).startswith("conf/suite/routing.yaml: measure")


@pytest.mark.parametrize(("names", "hint"), [([], "at least one"), (["Hit@1", "Hit@1"], "twice"), ("Hit@1", "a list")])
def test_wrong_lists(names, hint):
    with pytest.raises(UserError, match=hint):
        parse_measures(names)


def test_own_function_by_import_path():
    mine = parse_measure(f"{__name__}.depth@2")
    assert mine.score(["a", "b", "c"], frozenset({"a"}), {"a": 1}) == 2.0
    graded = parse_measure(f"{__name__}.gain@2")
    assert graded.is_graded
    assert graded.score(["a", "b", "c"], frozenset({"a"}), {"a": 3, "c": 5}) == 3.0
    with pytest.raises(UserError, match="must take"):
        parse_measure(f"{__name__}.wrong_parameters@2")
