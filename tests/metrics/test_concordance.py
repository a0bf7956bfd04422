"""The C-index against scipy's Somers' D, a plain loop, and its edge cases."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import somersd

from skillfit.errors import UserError
from skillfit.metrics import c_index

FEW = st.integers(0, 4).map(float)  # few distinct values, so that ties of both kinds are common


def by_loop(scores, performance):
    pairs = [(i, j) for i, j in combinations(range(len(scores)), 2) if performance[i] != performance[j]]
    points = 0.0
    for i, j in pairs:
        better, worse = (i, j) if performance[i] > performance[j] else (j, i)
        points += 1.0 if scores[better] > scores[worse] else 0.5 if scores[better] == scores[worse] else 0.0
    return points / len(pairs) if pairs else math.nan


@given(st.lists(st.tuples(FEW, FEW), max_size=40))
def test_equals_counting_pairs(rows):
    scores, performance = [a for a, _ in rows], [b for _, b in rows]
    assert c_index(scores, performance) == pytest.approx(by_loop(scores, performance), abs=1e-15, nan_ok=True)


@given(st.lists(st.tuples(FEW, FEW), min_size=2, max_size=40))
def test_turning_the_scores_round_mirrors_it(rows):
    scores, performance = np.array([a for a, _ in rows]), [b for _, b in rows]
    assert c_index(-scores, performance) == pytest.approx(1 - c_index(scores, performance), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", range(5))
def test_equals_scipys_somers_d(seed):
    rng = np.random.default_rng(seed)
    performance, scores = rng.integers(0, 12, 90), rng.integers(0, 6, 90)
    # Somers' D of the second given the first leaves out the pairs that are tied in the first
    assert c_index(scores, performance) == pytest.approx((1 + somersd(performance, scores).statistic) / 2, abs=1e-12)


def test_a_hundred_thousand_skills_without_error_of_rounding():
    n = 100_000
    performance = np.arange(n)
    scores = performance.copy()
    scores[0], scores[-1] = n - 1, 0  # the first is now above all others and the last below: 2n - 3 discordant pairs
    pairs = n * (n - 1) // 2
    assert c_index(scores, performance) == (pairs - (2 * n - 3)) / pairs


def test_edges():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert c_index([1, 1, 1], [0.1, 0.2, 0.3]) == 0.5
        for scores, performance in (([], []), ([1], [1]), ([1, 2], [3, 3])):
            assert math.isnan(c_index(scores, performance))
    with pytest.raises(UserError, match=r"skill b = 'nan': has no number"):
        c_index([1, math.nan], [1, 2], ["a", "b"])
    with pytest.raises(UserError, match="performance has 1 values"):
        c_index([1, 2], [1])
