"""Exact top-k under the total order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillfit.search.base import id_order, top_k


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_top_k_equals_a_full_sort_ties_included(values, k, random):
    ids = [f"s{i:02d}" for i in range(len(values))]
    random.shuffle(ids)
    scores = np.array(values, dtype=np.float32)
    expected = sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))[:k]
    assert top_k(scores, id_order(ids), k).tolist() == expected


def test_a_cut_through_equal_scores_is_decided_by_skill_id():
    ids = ["c", "a", "b", "d"]
    assert [ids[i] for i in top_k(np.ones(4, np.float32), id_order(ids), 2)] == ["a", "b"]
