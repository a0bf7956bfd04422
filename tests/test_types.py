from __future__ import annotations

import math
import pickle

import pytest

from skillfit.errors import UserError, suggest
from skillfit.types import Qrels, Ranking, Run


def test_run_sorts_once_by_score_then_id():
    run = Run.from_scores({"q": [("b", 1), ("c", 2.5), ("a", 1), ("B", 1)]})
    assert run["q"] == Ranking(("c", "B", "a", "b"), (2.5, 1.0, 1.0, 1.0))
    assert run.top(2).ranked("q") == ("c", "B")
    assert run.ranked("missing") == ()


def test_run_from_order_keeps_it_with_falling_scores():
    run = Run.from_order({"q": ["z", "a", "m"], "empty": []})
    assert run.ranked("q") == ("z", "a", "m")
    assert run["q"].scores == (1.0, 1 / 2, 1 / 3)
    assert "empty" in run
    assert len(run["empty"]) == 0


def test_run_reads_as_a_mapping():
    run = Run.from_order({"q1": ["a"], "q2": ["b"]})
    assert (list(run), len(run), "q3" in run) == (["q1", "q2"], 2, False)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_score_that_is_not_finite_is_refused(score):
    with pytest.raises(UserError, match=r"dense: query q, skill s2: score"):
        Run.from_scores({"q": [("s1", 1.0), ("s2", score)]}, place="dense")
    with pytest.raises(ValueError, match="query q: a score is not finite"):
        Run({"q": Ranking(("s1",), (score,))})


def test_repeated_skill_is_refused_unless_allowed():
    with pytest.raises(UserError, match="file: query q: skill = 'a': listed twice"):
        Run.from_order({"q": ["a", "b", "a"]}, place="file")
    with pytest.raises(UserError, match="listed twice"):
        Run.from_scores({"q": [("a", 1.0), ("a", 0.5)]})
    assert Run.from_order({"q": ["a", "b", "a"]}, allow_repeats=True).ranked("q") == ("a", "b", "a")


@pytest.mark.parametrize(
    "ranking",
    [
        Ranking(("a", "b"), (0.1, 0.2)),  # rising
        Ranking(("b", "a"), (0.2, 0.2)),  # a tie against the rule
        Ranking(("head", "tail"), (-3.0, 0.4)),  # a reranked head on another scale than its tail
    ],
)
def test_run_in_another_order_is_refused_as_no_file_could_keep_it(ranking):
    with pytest.raises(ValueError, match=r"query q: .* stands before .*Run.from_scores"):
        Run({"q": ranking})


def test_ranking_needs_one_score_a_skill():
    with pytest.raises(ValueError, match="2 skill ids with 1 scores"):
        Ranking(("a", "b"), (1.0,))


def test_qrels_sizes():
    qrels = Qrels({"one": frozenset("a"), "two": frozenset("ab"), "zero": frozenset()})
    assert [qrels.size_of(q) for q in ("one", "two", "zero", "other")] == ["single", "multi", "none", "unjudged"]


def test_qrels_relevances_are_the_grades_or_else_the_required_skills():
    qrels = Qrels(
        {"graded": frozenset("a"), "plain": frozenset("ab"), "zeros": frozenset("a")},
        {"graded": {"a": 3, "b": 1, "c": 0}, "zeros": {"a": 0}},
    )
    assert qrels.relevances("graded") == {"a": 3, "b": 1}
    assert qrels.relevances("plain") == {"a": 1, "b": 1}
    assert qrels.relevances("zeros") == {"a": 1}
    assert qrels.relevances("other") == {}
    assert qrels.skill_ids() == {"a", "b", "c"}


def test_user_error_is_one_line_and_survives_pickling():
    error = UserError("runs/a.txt:3", "score", "nan", "give a finite number")
    assert str(error) == "runs/a.txt:3: score = 'nan': give a finite number"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.field) == (UserError, str(error), "score")


def test_user_error_shortens_long_values():
    text = str(UserError("f", "body", "x" * 5000, "too long"))
    assert len(text) < 300
    assert "characters" in text


def test_suggest_names_the_closest_first():
    assert suggest("densse", ["lexical", "dense"]) == "did you mean dense? known: dense, lexical"
    assert suggest("zzz", []) == "known: (none)"
