"""Errors in the user's words."""

from __future__ import annotations

import copy

from skillfit.errors import UserError, suggest


def test_place_field_value_and_fix_stand_in_one_line():
    error = UserError("conf/data.yaml", "max_length", 1.5, "use a whole number")
    assert str(error) == "conf/data.yaml: max_length = 1.5: use a whole number"
    assert str(UserError("file.jsonl:3", fix="is not UTF-8")) == "file.jsonl:3: is not UTF-8"
    assert str(UserError("run", "score", "nan")) == "run: score = 'nan'"


def test_long_values_are_shortened():
    assert len(str(UserError("x", "text", "a" * 10_000, "fix"))) < 300


def test_a_copy_made_in_another_process_says_the_same():
    error = UserError("a", "b", "c", "d")
    rebuilt = error.__reduce__()[0](*error.__reduce__()[1])
    assert str(rebuilt) == str(error) == str(copy.copy(error))


def test_suggestions_start_with_the_closest():
    assert suggest("lexicl", ["dense", "lexical"]).startswith("did you mean lexical? ")
    assert suggest("zzz", ["dense", "lexical"]) == "known: dense, lexical"
    assert suggest("x", []) == "known: (none)"
