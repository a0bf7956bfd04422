from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from skillfit.analysis.folder import MetricRow
from skillfit.analysis.plots import MOST_GROUPS, MOST_SYSTEMS, ForestPoint, forest, group_figure
from skillfit.analysis.svg import plain


def row(system: str, group: str, value: float, n: int = 10, metric: str = "Hit@1") -> MetricRow:
    return MetricRow("routing", "b", system, group, metric, value, max(0, value - 0.1), min(1, value + 0.1), n)


def texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_panel_is_an_svg_whose_text_is_text():
    rows = [row("bm25", "family=a<b>&c", 0.25), row("bm25", "family=$z$", 0.75, n=7), row("bm25", "all", 0.5)]
    found = group_figure(rows, "family", ["Hit@1"])
    said = texts(found.panels["Hit@1"])
    assert said.index("$z$ (n=7)") < said.index("a<b>&c (n=10)"), "best first"
    assert "Hit@1, %" in said
    assert not any("all" in text for text in said)


def test_the_largest_groups_are_kept_and_the_others_counted():
    rows = [row("bm25", f"family=f{i:02}", i / 40, n=i + 1) for i in range(MOST_GROUPS + 5)]
    found = group_figure(rows, "family", ["Hit@1"])
    said = texts(found.panels["Hit@1"])
    assert found.groups_left_out == 5
    assert sum("(n=" in text for text in said) == MOST_GROUPS
    assert "f29 (n=30)" in said
    assert "f04 (n=5)" not in said


def test_systems_beyond_the_palette_are_counted_and_the_rest_named():
    rows = [row(f"system {k}", "single", 0.5, n=10 + k) for k in range(MOST_SYSTEMS + 1)]
    found = group_figure(rows, "size", ["Hit@1"])
    said = texts(found.panels["Hit@1"])
    assert found.systems_left_out == 1
    assert f"system {MOST_SYSTEMS - 1}" in said
    assert f"system {MOST_SYSTEMS}" not in said
    assert f"single (n=10–{9 + MOST_SYSTEMS})" in said


def test_figures_are_deterministic_dateless_and_follow_the_page():
    points = [ForestPoint("dense", 0.12, 0.02, 0.2), ForestPoint("hybrid", -0.05, -0.1, 0.01)]
    first, second = (forest(points, "nDCG@10", "bm25") for _ in range(2))
    assert first == second
    assert "currentColor" in first
    assert "#010203" not in first
    assert "<metadata" not in first
    assert not re.search(r"20\d\d-\d\d-\d\d", first)
    assert {"dense", "hybrid", "nDCG@10, points"} <= set(texts(first))


def test_figures_leave_the_settings_of_the_caller_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    forest([ForestPoint("dense", 0, 0, 0)], "Hit@1", "bm25")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", ["技能", "a\nb", "\x00", "\ud800x", "'\"<svg onload=x>", "x" * 300, "", "_hidden"])
def test_any_name_can_be_drawn(name):
    found = group_figure([row(name, f"family={name}", 0.5), row("b", f"family={name}", 0.1)], "family", ["Hit@1"])
    for figure in (found.panels["Hit@1"], forest([ForestPoint(name, 0.1, 0.0, 0.2)], name, name)):
        assert ElementTree.fromstring(figure).tag.endswith("svg")


def test_plain_keeps_both_ends():
    assert plain("skillrouter-embedding-0.6b", 11) == "skillro….6b"
    assert len(plain("y" * 50, 11)) == 11
    assert plain("short", 11) == "short"
