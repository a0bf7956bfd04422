from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from skillfit.analysis.compare import CompareOptions
from skillfit.analysis.folder import read_folder
from skillfit.analysis.numbers import signed
from skillfit.analysis.report import write_comparison, write_report
from skillfit.errors import UserError

QUICK = CompareOptions(n_resamples=200, permutations=200)
VOID = {"meta", "br", "path", "use", "rect", "line", "circle"}


class Page(HTMLParser):
    """Collects tags, texts and ids, and checks that elements close in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        assert self.open == [], "elements left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def assert_self_contained(page: Page, html: str) -> None:
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "i"}
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        for key in ("src", "href", "xlink:href"):
            assert attributes.get(key, "#").startswith("#")
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_a_run_report_holds_the_numbers_and_lets_no_markup_through(make_run):
    folder = make_run()
    path = write_report(folder)
    html, page = path.read_text(encoding="utf-8"), read(path)
    assert path == folder / "report.html"
    assert_self_contained(page, html)
    assert "<script>alert('skill')</script>" in page.text
    for row in read_folder(folder).rows:
        if row.group in ("all", "single", "multi"):
            assert f"{100 * row.value:.1f}" in page.text
            assert f"[{100 * row.low:.1f}, {100 * row.high:.1f}]" in page.text
    for text in (
        "skillsbench",
        "bm25",
        "11,715 skills",
        "75 queries scored",
        "What n = 75 can show",
        "21.0 %",
        "0123abcd",
    ):
        assert text in page.text
    assert "with changes not committed" in page.text
    assert "'system=a b'" in page.text
    assert "not a benchmark" not in page.text


def test_ids_are_distinct_and_links_have_their_target(make_run):
    page = read(write_report(make_run(systems={"bm25": 0.5, "dense": 0.8})))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {a["href"][1:] for tag, a in page.tags if tag == "a"}
    assert links
    assert links <= set(ids)


def test_mini_is_called_a_demonstration(make_run):
    page = read(write_report(make_run(benchmark="mini")))
    assert "skillfit-mini is a demonstration and a test bed, not a benchmark" in page.text


def test_the_same_folder_gives_the_same_bytes(make_run):
    folder = make_run(systems={"bm25": 0.5, "dense": 0.8})
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first


@pytest.mark.parametrize(
    "text", ["half \ud83d emoji", "nul \x00 bell \x07", "\u202egnp.exe", "{{ 7*7 }} {% raw %}", "</section>"]
)
def test_odd_text_does_not_break_the_page(make_run, text):
    def odd(pieces: dict[str, Any]) -> None:
        pieces["worst"][0]["text"] = pieces["worst"][0]["required"][0]["name"] = text
        for row in pieces["rows"]:
            if row["group"] == "family=log-triage":
                row["group"] = f"family={text}"

    html = write_report(make_run(edit=odd)).read_bytes().decode("utf-8")
    page = Page(html)
    assert not re.search(r"[\x00-\x08]", html)
    assert "49" not in re.findall(r"<blockquote.*?</blockquote>", html, re.DOTALL)[0]
    assert page.text.count("Provenance") == 2


def test_a_run_from_a_file_and_a_run_of_parts_tell_what_they_know(make_run):
    def from_file(pieces: dict[str, Any]) -> None:
        pieces["provenance"]["systems"]["bm25"] = {"run_file": "run.trec", "answers": 75}

    def parts(pieces: dict[str, Any]) -> None:
        lexical = pieces["provenance"]["systems"]["bm25"]
        dense = {
            "retriever": {"kind": "dense", "max_length": 256},
            "cut_by_window": {"skills": 0.875, "queries": 0.0},
        }
        facts = {"retriever": {"kind": "hybrid"}, "parts": {"lexical": lexical, "dense": dense}}
        pieces["provenance"]["systems"]["bm25"] = facts

    assert "recorded no text limits" in read(write_report(make_run("a", edit=from_file))).text
    page = read(write_report(make_run("b", edit=parts)))
    assert "bm25 · dense" in page.text
    assert "256 tokens" in page.text
    assert "87.5 %" in page.text
    assert "recorded no text limits" not in page.text


def test_one_query_and_no_worst_and_no_groups_still_make_a_report(make_run):
    def bare(pieces: dict[str, Any]) -> None:
        pieces["rows"] = [row for row in pieces["rows"] if row["group"] == "all"]
        pieces["worst"] = []

    page = read(write_report(make_run(n=1, edit=bare)))
    assert "What n = 1 can show" in page.text
    assert "worst" not in page.text
    assert "Results by group" not in page.text


def test_a_comparison_holds_tests_and_wins(make_run, tmp_path):
    folders = [make_run("a"), make_run("b", {"dense": 0.9}), make_run("c", {"hybrid": 0.7}, n=70)]
    path = write_comparison(folders, "bm25", tmp_path / "out", QUICK)
    page = read(path)
    assert_self_contained(page, path.read_text(encoding="utf-8"))
    saved = json.loads((tmp_path / "out" / "comparison.json").read_text(encoding="utf-8"))
    assert saved["queries"]["shared"] == 70
    for row in saved["rows"]:
        if row["group"] == "all" and row["difference"] is not None:
            assert f"{row['wins']} / {row['losses']} / {row['ties']}" in page.text
            assert signed(row["difference"]) in page.text
    assert "Differences to bm25" in page.text
    assert "5 of 75 of dense" in page.text
    assert page.text.count("Command") == 3


def test_a_comparison_never_overwrites_and_leaves_nothing_half_done(make_run, tmp_path):
    folders = [make_run("a"), make_run("b", {"dense": 0.9})]
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="not an empty folder"):
        write_comparison(folders, None, out, QUICK)
    assert [file.name for file in out.iterdir()] == ["notes.txt"]
    with pytest.raises(UserError, match="baseline"):
        write_comparison(folders, "nobody", tmp_path / "new", QUICK)
    assert not (tmp_path / "new").exists()


def test_an_unfinished_run_without_numbers_has_no_report(make_run):
    folder = make_run(status="running")
    assert write_report(folder).exists()
    (folder / "metrics.json").unlink()
    with pytest.raises(UserError, match="has not finished"):
        write_report(folder)
