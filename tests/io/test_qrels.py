from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.errors import UserError
from skillfit.io.qrels import read_qrels, required_from, write_qrels

GRADES = {"q1": {"s1": 3, "s2": 0}, "q2": {"skill with blanks": 1, "gt/x": 2}}


def test_trec_form_comes_back(tmp_path):
    write_qrels(tmp_path / "qrels.txt", GRADES)
    assert read_qrels(tmp_path / "qrels.txt") == GRADES
    assert (tmp_path / "qrels.txt").read_text().splitlines()[0] == "q1\t0\ts1\t3"


ids = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n"), min_size=1).filter(
    lambda text: text == text.strip().lstrip("\ufeff")
)


@given(
    grades=st.dictionaries(ids, st.dictionaries(ids, st.integers(0, 9), min_size=1, max_size=3), min_size=1, max_size=3)
)
def test_any_ids_come_back(tmp_path_factory, grades):
    path = tmp_path_factory.mktemp("qrels") / "qrels.tsv"
    write_qrels(path, grades)
    assert read_qrels(path) == grades


@pytest.mark.parametrize(
    "header", ["query-id\tcorpus-id\tscore\n", "\n\nquery_id\tcorpus_id\tscore\n", "﻿query-id\tcorpus-id\tscore\r\n"]
)
def test_beir_form(tmp_path, header):
    path = tmp_path / "test.tsv"
    path.write_text(header + "q1\ts1\t1\nq1\ts2\t0\n", encoding="utf-8", newline="")
    assert read_qrels(path) == {"q1": {"s1": 1, "s2": 0}}


def test_blanks_crlf_and_empty_lines(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_bytes(b"\xef\xbb\xbfq1 0  s1 1\r\n\r\nq1 0 s2 2\r\n")
    assert read_qrels(path) == {"q1": {"s1": 1, "s2": 2}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 0 s1", r"qrels.txt:2: grade = 's1'"),  # three columns: query, skill, grade
        ("q1 s1", r"qrels.txt:2: line = 'q1 s1': expected"),
        ("q1 0 s1 1 extra", r"qrels.txt:2: line"),
        ("q1\t0\t\t1", r"qrels.txt:2: line"),
        ("q0 0 s0 2", r"qrels.txt:2: q0 s0: grade = 2: contradicts 1 above"),
    ],
)
def test_wrong_line_is_named(tmp_path, line, message):
    path = tmp_path / "qrels.txt"
    path.write_text(f"q0 0 s0 1\n{line}\n")
    with pytest.raises(UserError, match=message):
        read_qrels(path)


@pytest.mark.parametrize("text", ["", "\n\n", "query-id\tcorpus-id\tscore\n"])
def test_file_without_judgement_is_refused(tmp_path, text):
    (tmp_path / "qrels.tsv").write_text(text)
    with pytest.raises(UserError, match="holds no judgement"):
        read_qrels(tmp_path / "qrels.tsv")


@pytest.mark.parametrize("wrong", ["", "a\tb", "a\nb", " a", "a\u00a0", "\ufeffa"])
def test_id_that_a_column_cannot_hold_is_refused_before_anything_is_written(tmp_path, wrong):
    with pytest.raises(UserError, match="TREC columns hold"):
        write_qrels(tmp_path / "qrels.txt", {"q": {wrong: 1}})
    assert not list(tmp_path.iterdir())


def test_required_are_the_positive_grades_and_queries_without_one_are_left_out():
    assert required_from({"q1": {"a": 3, "b": 0, "c": 1}, "q2": {"a": 0}}) == {"q1": frozenset("ac")}
