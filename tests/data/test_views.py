"""Text views: fields, caps and the ledger of cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skillfit.data.views import CAPS, CutLedger, TextView, cut_at_word
from skillfit.types import Skill

SKILL = Skill("a/b", "pdf-tables", "Extract tables.", "Use camelot.\n\nThen export.")


def test_the_views_join_their_fields():
    assert TextView(name="nd", fields=("name", "description")).skill_text(SKILL) == "pdf-tables | Extract tables."
    full = TextView(name="full", fields=("name", "description", "body"))
    assert full.skill_text(SKILL) == "pdf-tables | Extract tables. | Use camelot.\n\nThen export."


def test_an_empty_field_leaves_no_separator():
    view = TextView(name="full", fields=("name", "description", "body"))
    assert view.skill_text(Skill("x", "name", "", "body")) == "name | body"
    assert view.skill_text(Skill("x", "name", " ", "")) == "name"


def test_cap_profiles_are_the_published_ones():
    assert (CAPS["paper"].query, CAPS["paper"].description, CAPS["paper"].body) == (1500, 300, 2500)
    assert (CAPS["release"].query, CAPS["release"].description, CAPS["release"].body) == (2000, 500, 8000)


def test_cuts_end_at_a_word_and_are_counted():
    view = TextView(name="nd", fields=("name", "description"), caps={"description": 12, "query": 5})
    ledger = CutLedger()
    assert view.skill_text(Skill("x", "n", "alpha beta gamma", ""), ledger) == "n | alpha beta"
    view.skill_text(Skill("y", "n", "short", ""), ledger)
    assert view.query_text("alpha beta", ledger) == "alpha"
    assert ledger.shares() == {"name": 0.0, "description": 0.5, "query": 1.0}


@given(st.text(alphabet="ab \n\t", max_size=60), st.integers(1, 30))
def test_a_cut_text_is_a_prefix_that_splits_no_word(text, limit):
    cut = cut_at_word(text, limit)
    assert len(cut) <= limit
    assert text.startswith(cut)
    if len(text) > limit and any(c in text[: limit + 1].lstrip() for c in " \n\t"):
        assert len(cut) == 0 or len(cut) == len(text) or text[len(cut)].isspace() or not text[:limit].strip(" \n\t")


def test_one_endless_word_is_cut_hard():
    assert cut_at_word("x" * 200_000, 8_000) == "x" * 8_000


@pytest.mark.parametrize("wrong", [{"caps": "papr"}, {"fields": ("nam",)}, {"fields": ()}, {"colour": 1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        TextView(**{"name": "x", "fields": ("name",), **wrong})
