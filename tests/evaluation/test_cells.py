"""Replaying cells: all published and synthetic ones hold, and a wrong one is told apart from a right one."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path

import pytest

from skillfit.errors import UserError
from skillfit.evaluation.cells import REPLAYS, replay_cells

CELLS = Path(__file__).parents[1] / "fixtures" / "golden_cells.json"
COUNTS = {
    "spearman_p_value": 14, "significance_mark": 26, "normalized_rank_score": 60, "performance_percent": 60,
    "topk_mean_fractional_ties": 13, "relative_reduction_pct": 4, "mean_sd": 2, "mean": 4, "top1_percentile_gain": 2,
    "single_multi_pooling": 25, "tier_mean": 8, "subset_pooling": 27, "c_index": 10, "spearman_rho": 10,
    "topk_mean_fractional_ties_raw": 10, "normalized_rank_score_raw": 10, "skill_router_metrics": 8,
}  # fmt: skip


def replay(tmp_path, *cells, **rest):
    file = tmp_path / "cells.json"
    file.write_text(json.dumps({"cells": list(cells), **rest}))
    return replay_cells(file)


def test_every_cell_holds():
    results = replay_cells(CELLS)
    assert [result for result in results if not result.passed] == []
    assert Counter(result.metric for result in results) == COUNTS
    for metric, count in COUNTS.items():
        sys.stdout.write(f"{metric}: {count} of {count} cells reproduced\n")  # pytest -s shows it


def test_every_metric_of_the_format_is_known():
    assert set(REPLAYS) == set(COUNTS)


def test_no_cell_holds_by_chance(tmp_path):
    """The same cells with their expected values moved by ten tolerances all fail."""
    document = json.loads(CELLS.read_text())
    numeric = [cell for cell in document["cells"] if isinstance(cell["expected"], float | int)]
    moved = [{**cell, "expected": cell["expected"] + 10 * cell["tol"]} for cell in numeric]
    file = tmp_path / "moved.json"
    file.write_text(json.dumps({**document, "cells": moved}))
    assert [result.cell_id for result in replay_cells(file) if result.passed] == []


def test_cells_that_cannot_be_replayed_fail_with_their_reason(tmp_path):
    wrong = [
        {"id": "a", "metric": "c_indx", "inputs": {}, "expected": 1, "tol": 0},
        {"id": "b", "metric": "c_index", "inputs": {"scores": [1]}, "expected": 1, "tol": 0},
        {"id": "c", "metric": "normalized_rank_score", "inputs": {"fixture": "x", "unit": 1}, "expected": 1},
        {"id": "d", "metric": "mean", "inputs": {"values": ["one"]}, "expected": 1, "tol": 0},
        {"id": "e", "metric": "mean", "inputs": {"values": [1]}},
        {"metric": "mean", "inputs": {"values": [2]}, "expected": 1, "tol": 0.5},
        {"id": "g", "metric": "significance_mark", "inputs": {"rho": 0.5, "n": 100}, "expected": "ns", "tol": None},
        {
            "id": "h",
            "metric": "skill_router_metrics",
            "inputs": {"ranked": ["a"], "gold": ["a"]},
            "expected": {"Hit@1": 0},
        },
    ]
    reasons = [result.reason for result in replay(tmp_path, *wrong)]
    told = ["did you mean c_index", "lack 'performance'", "fixture = 'x'", "no number", "is missing", "found 2.0"]
    for reason, part in zip(reasons, [*told, "found '***'", "Hit@1: found 1.0"], strict=True):
        assert part in reason


def test_undefined_values_and_edges_of_rounding(tmp_path):
    good = [
        {"id": "a", "metric": "c_index", "inputs": {"scores": [1, 2], "performance": [3, 3]}, "expected": None},
        {"id": "b", "metric": "spearman_rho", "inputs": {"x": [1, 1], "y": [1, 2]}, "expected": math.nan, "tol": 1},
        # p of .1125 over 305 skills is .0497, of .112 it is .0507: printed as .112, the mark may be either
        {
            "id": "c",
            "metric": "significance_mark",
            "inputs": {"rho": 0.112, "n": 305, "edge_of_rounding": True},
            "expected": "*",
        },
        {"id": "d", "metric": "skill_router_metrics", "inputs": {"ranked": [], "gold": []}, "expected": {"FC@3": None}},
    ]
    assert [result.reason for result in replay(tmp_path, *good)] == [""] * 4
    strict = {**good[2], "inputs": {"rho": 0.112, "n": 305, "edge_of_rounding": False}}
    assert "found 'ns'" in replay(tmp_path, strict)[0].reason


@pytest.mark.parametrize("text", ["[]", '{"cells": 3}', '{"cells": [1]}', "{"])
def test_another_file_is_refused(tmp_path, text):
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(UserError, match=r"x\.json"):
        replay_cells(file)
