"""Top-k performance: fractional ties as the mean over all ways to break them."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.errors import UserError
from skillfit.metrics import top_k_mean, top_k_means

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=6)


@given(ROWS, st.integers(1, 8))
def test_is_the_mean_over_all_orders_of_tied_skills(rows, k):
    sums = []
    for order in permutations(rows):
        chosen = sorted(order, key=lambda row: -row[0])[:k]
        sums.append(sum(performance for _, performance in chosen) / len(chosen))
    found = top_k_mean([s for s, _ in rows], [p for _, p in rows], k)
    assert found == pytest.approx(sum(sums) / len(sums), abs=1e-12)


@given(ROWS, st.randoms())
def test_does_not_depend_on_the_order_of_the_rows(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    ks = [1, 2, 3]
    first, second = (top_k_means([s for s, _ in r], [p for _, p in r], ks) for r in (rows, shuffled))
    assert list(first) == list(second)


def test_by_hand():
    scores, performance = [0.9, 0.5, 0.5, 0.5, 0.1], [10, 1, 2, 3, 100]
    # whole first group, then places left x the mean 2 of the tied three, then all
    assert list(top_k_means(scores, performance, [1, 2, 3, 4, 5, 99])) == [10, 6, 14 / 3, 4, 23.2, 23.2]


def test_edges():
    assert top_k_mean([1, 1, 1], [1, 2, 6], 2) == 3
    assert math.isnan(top_k_mean([], [], 1))
    with pytest.raises(UserError, match="k = 0"):
        top_k_mean([1], [1], 0)
    with pytest.raises(UserError, match="skill x"):
        top_k_mean([math.nan], [1], 1, ["x"])
