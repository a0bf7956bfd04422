"""Bodies in pieces: nothing lost, nothing too long, cut at the joints of markdown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skillfit.data.passages import PassageOptions, split_body
from skillfit.data.views import CutLedger, TextView
from skillfit.errors import UserError
from skillfit.types import Skill

VIEW = TextView(name="passages", fields=("name", "description", "body"), passages=PassageOptions(size=60, most=3))


def pieces(body: str, size: int) -> list[str]:
    return [body[start:end] for start, end in split_body(body, size)]


def test_sections_stay_whole_and_neighbours_share_a_piece():
    body = "Intro line.\n\n# One\n\nshort\n\n## Two\n\n" + "word " * 10 + "\n\n# Three\ntail\n"
    assert pieces(body, 70) == [
        "Intro line.\n\n# One\n\nshort",
        "## Two\n\n" + ("word " * 10).strip(),
        "# Three\ntail",
    ]


def test_a_long_section_is_cut_between_paragraphs_and_list_items():
    body = "# Steps\n\n- first item is here\n  and goes on\n- second item\n\nA closing paragraph of text.\n"
    assert pieces(body, 50) == [
        "# Steps\n\n- first item is here\n  and goes on",
        "- second item\n\nA closing paragraph of text.",
    ]


def test_a_heading_never_ends_a_piece_when_its_text_fits_beside_it():
    body = "x" * 30 + "\n\n# A heading\n\nits text follows\n\n" + "y" * 40
    assert pieces(body, 50) == ["x" * 30, "# A heading\n\nits text follows", "y" * 40]


@pytest.mark.parametrize("mark", ["```", "~~~", "````"])
def test_a_fence_is_never_cut_while_it_fits(mark):
    code = f"{mark}python\n# no heading\n\n- no item\n``\n{mark}"
    body = f"Some words before the code.\n{code}\nSome words after it."
    assert pieces(body, len(code)) == ["Some words before the code.", code, "Some words after it."]


def test_a_fence_that_is_too_long_is_cut_between_lines():
    lines = [f"print({n})" for n in range(20)]
    body = "```\n" + "\n".join(lines) + "\n```"
    found = pieces(body, 60)
    assert len(found) > 2
    assert [line for piece in found for line in piece.split("\n")] == body.split("\n")


def test_an_open_fence_runs_to_the_end():
    assert pieces("```\n# a\n\n# b", 30) == ["```\n# a\n\n# b"]


def test_sentences_then_words_then_letters():
    assert pieces("One is here. Two is here! Three?", 20) == ["One is here.", "Two is here! Three?"]
    assert pieces("alpha beta gamma", 11) == ["alpha beta", "gamma"]
    assert pieces("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_an_underlined_line_is_a_heading():
    body = "text " * 8 + "\n\nTitle\n-----\nunder the title\n"
    assert pieces(body, 42) == [("text " * 8).strip(), "Title\n-----\nunder the title"]


MARKDOWN = st.lists(
    st.sampled_from(
        ["# h\n", "## h\n", "```\n", "~~~py\n", "- item\n", "1. item\n", "\n", "a b. c\n", "word ", "---\n"]
    )
    | st.text(alphabet="ab#`~- .\n\t\u3002\u00a0", max_size=30),
    max_size=30,
).map("".join)


@given(MARKDOWN, st.integers(5, 80))
def test_the_pieces_are_the_body_but_for_white_space_between_them(body, size):
    spans = split_body(body, size)
    assert all(0 < end - start <= size for start, end in spans)
    place = 0
    for start, end in spans:
        assert start >= place
        assert not body[place:start].strip()
        place = end
    assert not body[place:].strip()
    assert split_body(body, size) == spans


@pytest.mark.parametrize(
    "body",
    ["```\n" * 50_000, "- a\n" * 50_000, "x" * 400_000, "# h\n" * 50_000, "a. " * 100_000, "a\nb\n" + "---\n" * 50_000],
)
def test_a_hostile_body_takes_no_more_than_linear_time(body):
    started = time.process_time()
    split_body(body, 700)
    assert time.process_time() - started < 3


def test_each_passage_carries_name_and_description():
    body = "# One\n\n" + "alpha " * 8 + "\n\n# Two\n\n" + "beta " * 8
    texts = VIEW.skill_texts(Skill("x", "pdf", "Read PDFs.", body))
    assert len(texts) == 2
    assert all(text.startswith("pdf | Read PDFs. | # ") for text in texts)
    assert "beta" in texts[1]


def test_an_empty_body_gives_the_header_and_an_empty_skill_one_empty_text():
    assert VIEW.skill_texts(Skill("x", "pdf", "Read PDFs.", " \n")) == ("pdf | Read PDFs.",)
    assert VIEW.skill_texts(Skill("x", "", "", "")) == ("",)


def test_what_is_left_out_is_counted():
    ledger = CutLedger()
    view = TextView(
        name="p", fields=("name", "description", "body"), passages=PassageOptions(size=50, most=2, description=10)
    )
    long, short = Skill("x", "n", "a long description", "word " * 40), Skill("y", "n", "short", "word " * 12)
    assert len(view.skill_texts(long, ledger)) == 2
    assert len(view.skill_texts(short, ledger)) == 2
    view.skill_texts(Skill("z", "n", "short", ""), ledger)
    assert ledger.shares()["passages"] == 0.5  # of the skills that have a body
    assert ledger.shares()["description"] == pytest.approx(1 / 3)
    assert view.skill_texts(long)[0].startswith("n | a long | word")


def test_the_caps_of_the_view_hold_for_passages_too():
    view = TextView(name="p", fields=("body", "name"), caps={"body": 100, "name": 2}, passages=PassageOptions(size=60))
    texts = view.skill_texts(Skill("x", "pdf", "", "word " * 100))
    assert sum(text.count("word") for text in texts) == 20
    assert all(text.endswith(" | pd") for text in texts)  # the order of the fields is the view's


def test_a_view_without_passages_is_as_before():
    view = TextView(name="full", fields=("name", "description", "body"))
    skill = Skill("x", "pdf", "Read PDFs.", "word " * 500)
    assert view.skill_texts(skill) == (view.skill_text(skill),)
    assert set(view.settings()) == {"name", "fields", "separator", "caps"}
    assert view.passage_score == "max"


def test_the_settings_tell_the_passages():
    found = VIEW.settings()["passages"]
    assert found == {"size": 60, "most": 3, "name": 80, "description": 200, "score": "max"}


def test_passages_of_a_view_without_body_are_refused():
    with pytest.raises(UserError, match="body"):
        TextView(name="nd", fields=("name", "description"), passages=PassageOptions())


@pytest.mark.parametrize("wrong", [{"size": 0}, {"most": 0}, {"score": "sum"}, {"sise": 9}])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValidationError):
        PassageOptions(**wrong)
