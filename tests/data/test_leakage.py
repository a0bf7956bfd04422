"""The leakage guard."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from fakes import ListPool
from skillfit.data.benchmark import Benchmark, make_benchmark
from skillfit.data.examples import PairSet
from skillfit.data.leakage import check_leakage, overlaps, protected_skills
from skillfit.data.pairs.judged import JudgedPairs
from skillfit.errors import UserError
from skillfit.types import Qrels, Query, Skill

SKILLS = [
    Skill("a", "a", "one", "Body one.", copy_group="a"),
    Skill("a-copy", "a copy", "one", "body  ONE.", copy_group="a"),
    Skill("b", "b", "two", "Body two."),
    Skill("c", "c", "three", ""),
]


def benchmark(name: str, rows: dict[str, tuple[str, str]], skills: list[Skill] = SKILLS) -> Benchmark:
    """rows: query_id -> (text, required skill)."""
    queries = [Query(query_id, text, {"split": "train"}) for query_id, (text, _) in rows.items()]
    qrels = Qrels({query_id: frozenset({skill}) for query_id, (_, skill) in rows.items()})
    return make_benchmark(name, ListPool(skills), queries, qrels, unknown="error", place=name)


TRAIN = benchmark("train", {"t1": ("Extract the tables, please", "a"), "t2": ("something else", "b")})
PAIRS: PairSet = JudgedPairs().pairs(TRAIN, split="train", seed=0, protected=frozenset())


def test_up43_a_query_of_the_test_is_found_in_any_case_and_spacing() -> None:
    test = benchmark(
        "test", {"x1": ("something else", "c"), "x2": ("extract  the TABLES please!", "c"), "x3": ("new", "c")}
    )
    (found,) = overlaps(PAIRS, TRAIN, [test])
    assert (found.same_text, found.similar_text, found.skills) == (("x1",), ("x2",), ())


def test_required_skills_and_their_copies_are_found() -> None:
    (found,) = overlaps(PAIRS, TRAIN, [benchmark("test", {"x": ("new", "a-copy")})])
    assert found.skills == ("a",)
    assert protected_skills(TRAIN, [benchmark("test", {"x": ("new", "a-copy")})]) == {"a", "a-copy"}


def test_a_skill_of_another_corpus_is_found_by_its_body() -> None:
    elsewhere = [Skill("other/b", "b", "", "BODY   two."), Skill("other/c", "c", "", "")]
    test = benchmark("test", {"x": ("new", "other/b"), "y": ("newer", "other/c")}, elsewhere)
    assert protected_skills(TRAIN, [test]) == {"b"}  # empty bodies say nothing


def test_the_rules(caplog: pytest.LogCaptureFixture) -> None:
    test = benchmark("held-out", {"x1": ("something else", "b")})
    with pytest.raises(
        UserError, match=r"held-out: 1 queries \(x1\), 1 required skills.*\(b\).*component\.leakage=warn"
    ):
        check_leakage(PAIRS, TRAIN, [test], "refuse")
    caplog.set_level(logging.WARNING, logger="skillfit")
    counts = {"held-out": {"queries": 1, "queries_normalised": 0, "skills": 1}}
    assert check_leakage(PAIRS, TRAIN, [test], "warn") == counts
    assert "held-out: 1 queries" in caplog.text
    caplog.clear()
    assert check_leakage(PAIRS, TRAIN, [test], "allow") == counts
    assert not caplog.text


def test_nothing_shared_is_nothing_refused() -> None:
    clean = replace(TRAIN, name="clean", queries=(), qrels=Qrels({}))
    assert check_leakage(PAIRS, TRAIN, [clean], "refuse")["clean"]["skills"] == 0
