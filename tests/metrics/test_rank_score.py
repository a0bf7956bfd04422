"""The midrank curve and what is read off it, against scipy's ranks and the published curves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from skillfit.errors import UserError
from skillfit.metrics import gain_over_strongest, rank_curve, rank_score, rank_scores

FIXTURES = json.loads(Path(__file__).parents[1].joinpath("fixtures", "golden_cells.json").read_text())["fixtures"]


@given(st.lists(st.integers(0, 6).map(float), min_size=2, max_size=30))
def test_an_observed_value_has_its_average_rank(values):
    expected = 100 * (rankdata(values) - 1) / (len(values) - 1)
    assert rank_scores(values, values) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(0, 6).map(float), min_size=2, max_size=30), st.lists(st.floats(-2, 9), min_size=2))
def test_rises_with_the_value(values, asked):
    found = rank_scores(values, sorted(asked))
    assert (np.diff(found) >= -1e-12).all()


@pytest.mark.parametrize("name", FIXTURES)
def test_the_ranks_that_the_published_cells_prove(name):
    fixture = FIXTURES[name]
    values = [level for level, count in fixture["levels_and_counts"] for _ in range(count)]
    assert len(values) == fixture["n"]
    for level, rank in fixture["proved_ranks"].items():
        assert rank_score(values, float(level)) == pytest.approx(100 * rank / (fixture["n"] - 1), abs=1e-12)


def test_the_unrounded_mean_counts():
    """BFCL, Top-3 of Full-text: 79.5556 is read as 50.88, the printed 79.56 would not be (MCRI, Table 13)."""
    fixture = FIXTURES["BFCL-Fundamental"]
    values = [level / 150 for level, count in fixture["levels_and_counts"] for _ in range(count)]
    assert round(rank_score(values, (119 + 119 + 120) / 3 / 150), 2) == 50.88
    assert round(rank_score(values, 0.7956), 2) == 50.98


def test_edges():
    assert list(rank_scores([1, 2, 3, 3], [-5, 1.5, 99])) == [0, 100 / 6, 100 * 2.5 / 3]
    assert rank_score([2, 2, 2], 7) == 50
    assert math.isnan(rank_score([2], 2))
    levels, scores = rank_curve([5, 1, 1])
    assert (list(levels), list(scores)) == ([1, 5], [25, 100])
    with pytest.raises(UserError, match="is empty"):
        rank_score([], 1)
    with pytest.raises(UserError, match="position 0"):
        rank_score([1, 2], math.nan)


def test_gain():
    assert gain_over_strongest(74.62, [51.82, 24.62]) == pytest.approx(22.8)
    with pytest.raises(UserError, match="baselines"):
        gain_over_strongest(1.0, [])
