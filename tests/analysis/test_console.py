from __future__ import annotations

import io

import pytest
from rich.console import Console

from skillfit.analysis.compare import CompareOptions, compare
from skillfit.analysis.console import print_comparison, print_run


def capture(show, *arguments, width: int = 120) -> str:
    stream = io.StringIO()
    show(*arguments, Console(file=stream, width=width))
    return stream.getvalue()


def test_a_run_is_printed_plainly(make_run):
    text = capture(print_run, make_run(systems={"[red]bm25[/red]": 0.5}))
    assert "\x1b" not in text
    assert "skillsbench: [red]bm25[/red]" in text
    assert "n = 75" in text
    assert all(metric in text for metric in ("Hit@1", "nDCG@10", "FC@10"))
    assert "not a benchmark" not in text


def test_mini_is_called_a_demonstration(make_run):
    assert "not a benchmark" in capture(print_run, make_run(benchmark="mini"))


@pytest.mark.parametrize("width", [80, 120])
def test_a_comparison_is_printed_with_its_tests(make_run, width):
    options = CompareOptions(n_resamples=200, permutations=200)
    found = compare([make_run("a"), make_run("b", {"dense": 0.9}, n=70)], None, options)
    text = capture(print_comparison, found, width=width)
    d = found.find("dense", "all", "nDCG@10").difference
    assert f"{100 * d.difference:+.1f}" in text
    assert f"[{100 * d.difference_low:+.1f}, {100 * d.difference_high:+.1f}]" in text
    assert f"{d.wins}/{d.losses}/{d.ties}" in text
    assert "5 of 75 of bm25" in " ".join(text.split())


def test_a_narrow_console_loses_nothing(make_run):
    name = "a-system-with-a-name-that-is-longer-than-the-console"
    text = capture(print_run, make_run(systems={name: 0.5}), width=50)
    assert name in "".join(text.split())
    assert "…" not in text
