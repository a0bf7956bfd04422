"""BM25 over small pools, odd queries included."""

from __future__ import annotations

import pytest

from fakes import ListPool
from skillfit.data.views import TextView
from skillfit.search.lexical import LexicalRetriever
from skillfit.types import Query, Skill

ND = TextView(name="nd", fields=("name", "description"))
FULL = TextView(name="full", fields=("name", "description", "body"))
POOL = ListPool(
    [
        Skill("x/pdf", "pdf-tables", "Extract tables from PDF files", "Use camelot in lattice mode."),
        Skill("x/img", "image-resize", "Resize images in bulk", "Use vips for gigapixel pictures."),
        Skill("x/empty", "empty-body", "Nothing of note", ""),
    ]
)


def search(text: str, view: TextView = FULL, pool: ListPool = POOL, **options: object) -> tuple[str, ...]:
    run, _ = LexicalRetriever(view=view, **options).search(pool, [Query("q", text)])
    return run.ranked("q")


def test_the_matching_skill_comes_first_and_others_are_not_listed():
    assert search("extract the tables of a pdf") == ("x/pdf",)


def test_the_body_counts_only_in_the_full_view():
    assert search("gigapixel") == ("x/img",)
    assert search("gigapixel", ND) == ()


@pytest.mark.parametrize("text", ["zzzz qqqq", "the of and", "?!", "'; DROP TABLE skills; --", "\x00", "a" * 100_000])
def test_up45_odd_queries_give_no_result_and_no_exception(text):
    assert search(text) == ()


def test_up45_a_pool_smaller_than_the_depth_is_listed_whole():
    pool = ListPool([Skill("a", "pdf", "pdf one", ""), Skill("b", "pdf", "pdf two", "")])
    assert set(search("pdf", pool=pool, depth=10)) == {"a", "b"}


def test_up37_equal_scores_are_ordered_by_skill_id_whatever_the_storage_order():
    skills = [Skill(i, "pdf", "read pdf files", "") for i in ("b", "c", "a")]
    for order in (skills, skills[::-1]):
        assert search("pdf", pool=ListPool(order)) == ("a", "b", "c")


def test_up48_more_occurrences_score_higher_and_scores_fall():
    pool = ListPool([Skill(str(n), "x", " ".join(["pdf"] * n + ["word"] * (5 - n)), "") for n in (1, 5, 2)])
    run, _ = LexicalRetriever(view=ND).search(pool, [Query("q", "pdf")])
    assert run.ranked("q") == ("5", "2", "1")
    assert list(run["q"].scores) == sorted(run["q"].scores, reverse=True)
    assert run["q"].scores[-1] > 0


def test_a_pool_without_any_word_gives_empty_rankings():
    assert search("pdf", pool=ListPool([Skill("a", "", "", ""), Skill("b", "?", "!", "")])) == ()


def test_scores_equal_the_bm25_formula():
    """Lucene's BM25: idf = ln(1 + (N - df + 0.5) / (df + 0.5)), tf part = f / (f + k1 (1 - b + b len / mean len))."""
    import math

    pool = ListPool([Skill("a", "", "cat cat dog", ""), Skill("b", "", "dog bird", ""), Skill("c", "", "fish", "")])
    run, _ = LexicalRetriever(view=ND, stopwords=None).search(pool, [Query("q", "cat")])
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert run["q"].scores[0] == pytest.approx(idf * 2 / (2 + 1.5 * (1 - 0.75 + 0.75 * 3 / 2)), rel=1e-5)


def test_facts_name_the_view_and_the_cut_shares():
    view = TextView(name="nd", fields=("name", "description"), caps="paper")
    pool = ListPool([Skill("a", "x", "word " * 100, ""), Skill("b", "y", "short", "")])
    _, facts = LexicalRetriever(view=view).search(pool, [Query("q", "word")])
    assert facts.facts["cut_by_caps"]["description"] == 0.5
    assert facts.facts["view"]["caps"]["description"] == 300
