from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.errors import UserError
from skillfit.io.runs import read_run, write_predictions, write_trec_run
from skillfit.types import Ranking, Run

RUN = Run.from_scores({"q1": [("s1", 0.1 + 0.2), ("s2", 1e-17), ("gt/x y", -3.0)], "q2": [("s2", 1.0), ("s1", 1.0)]})


def as_dict(run):
    return dict(run)


def test_trec_run_comes_back_with_the_same_floats(tmp_path):
    write_trec_run(tmp_path / "run.trec", RUN, tag="bm25")
    assert as_dict(read_run(tmp_path / "run.trec")) == as_dict(RUN)
    assert (tmp_path / "run.trec").read_text().splitlines()[0] == "q1\tQ0\ts1\t1\t0.30000000000000004\tbm25"


rankings = st.dictionaries(st.sampled_from("abcdef"), st.floats(allow_nan=False, allow_infinity=False), min_size=1)


@given(scores=st.dictionaries(st.sampled_from(["q1", "q2", "q 3"]), rankings, min_size=1))
def test_any_run_comes_back(tmp_path_factory, scores):
    run = Run.from_scores({query: list(row.items()) for query, row in scores.items()})
    folder = tmp_path_factory.mktemp("run")
    write_trec_run(folder / "run.trec", run, tag="x")
    assert as_dict(read_run(folder / "run.trec")) == as_dict(run)
    write_predictions(folder / "run.json", run)
    again = read_run(folder / "run.json")
    assert {query: again.ranked(query) for query in again} == {query: run.ranked(query) for query in run}


def test_order_comes_from_scores_and_ids_not_from_the_rank_column_or_the_lines(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 b 1 0.5 x\nq1 Q0 c 2 0.9 x\nq1 Q0 a 3 0.5 x\n")
    assert read_run(path).ranked("q1") == ("c", "a", "b")


def test_bom_crlf_and_blank_lines(tmp_path):
    path = tmp_path / "run.txt"
    path.write_bytes(b"\xef\xbb\xbfq1 Q0 a 1 2 x\r\n\r\nq1 Q0 b 2 1 x\r\n")
    assert read_run(path)["q1"] == Ranking(("a", "b"), (2.0, 1.0))


@pytest.mark.parametrize("score", ["nan", "NaN", "inf", "-Infinity", "high", "1_0", "1e999", "0,5"])
def test_score_that_is_no_finite_number_is_named(tmp_path, score):
    path = tmp_path / "run.txt"
    path.write_text(f"q1 Q0 a 1 1.0 x\nq1 Q0 b 2 {score} x\n")
    with pytest.raises(UserError, match=rf"run\.txt:2: score = '{score}': give a finite number"):
        read_run(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 a 1 1.0\n", r"run.txt:1: line = .*six columns"),
        ("q1\tQ0\t\t1\t1.0\tx\n", r"run.txt:1: line = .*empty"),
        ("q1 Q0 a 1 1.0 x\nq1 Q0 a 2 0.5 x\n", r"run.txt: query q1: skill = 'a': listed twice"),
        ("", r"run.txt: holds no line"),
        ("\n \n", r"run.txt: holds no line"),
    ],
)
def test_wrong_trec_file_is_told(tmp_path, text, message):
    (tmp_path / "run.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        read_run(tmp_path / "run.txt")


@pytest.mark.parametrize("wrong", ["", "a\tb", "a b\n", " a"])
def test_id_or_tag_that_a_column_cannot_hold_is_refused(tmp_path, wrong):
    for run, tag in ((Run.from_order({wrong: ["a"]}), "x"), (Run.from_order({"q": [wrong]}), "x"), (RUN, wrong)):
        with pytest.raises(UserError, match="TREC columns hold"):
            write_trec_run(tmp_path / "run.txt", run, tag=tag)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "answer",
    [
        ["b", "a"],
        [{"skill_id": "b"}, {"id": "a"}],
        [{"skill_id": "b", "score": None}, {"skill_id": "a", "score": None}],
        [{"skill_id": "a", "score": 0.1}, {"skill_id": "b", "score": "0.7"}],
        {"ranked": ["b", "a"]},
        {"predictions": [{"skill_id": "b", "score": 2}, {"skill_id": "a", "score": 1}]},
        {"a": 0.1, "b": 0.7},
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_prediction_forms(tmp_path, answer, nested):
    content = {"t1": answer, "t2": []}
    (tmp_path / "p.json").write_text(json.dumps({"predictions": content} if nested else content))
    run = read_run(tmp_path / "p.json")
    assert run.ranked("t1") == ("b", "a")
    assert "t2" in run


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "expected an object"),
        ("{}", "expected an object"),
        ('{"t1": "a"}', "task t1: value = 'a': expected a list"),
        ('{"t1": ["a", 3]}', "task t1: skill id = 3"),
        ('{"t1": ["a", ""]}', "task t1: skill id = ''"),
        ('{"t1": [{"name": "a"}]}', "task t1: skill id"),
        ('{"t1": ["a", "a"]}', "query t1: skill = 'a': listed twice"),
        ('{"t1": {"a": "high"}}', "task t1: score = 'high'"),
        ('{"t1": {"a": true}}', "task t1: score = True"),
        ('{"t1": {"a": 1' + "0" * 400 + "}}", "task t1: score = 1"),
        ('{"t1": {"a": NaN}}', "NaN is not a JSON number"),
        ('{"t1": {"a": 1e999}}', "task t1: score = inf"),
        ('{"t1": [{"id": "a", "score": 1}, {"id": "b"}]}', "skill = 'a': has a score and 1 others have none"),
        ('{"t1": ["a"], "t1": ["b"]}', "'t1' is given twice"),
    ],
)
def test_wrong_prediction_file_is_told(tmp_path, content, message):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(UserError, match=message) as caught:
        read_run(tmp_path / "p.json")
    assert str(caught.value).startswith(str(tmp_path / "p.json"))


def test_repeats_are_kept_for_skillrouters_own_scorer(tmp_path):
    (tmp_path / "p.json").write_text('{"t1": ["a", "a", "b"]}')
    assert read_run(tmp_path / "p.json", allow_repeats=True).ranked("t1") == ("a", "a", "b")


def test_half_a_character_in_a_prediction_is_told_with_its_place(tmp_path):
    for name, data in (("p.json", '{"t": ["a", "\\ud800"]}'), ("q.JSON", '{"\\udc00": ["a"]}')):
        (tmp_path / name).write_text(data)
        with pytest.raises(UserError, match=rf"{name}.*lone surrogate"):
            read_run(tmp_path / name)
