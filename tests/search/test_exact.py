"""Ranking by vectors: equal texts tie, and nothing but query and skill decides a score."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.search import exact
from skillfit.search.exact import SkillVectors, candidates, rank_all


def unit(rng: np.random.Generator, rows: int, width: int = 96) -> np.ndarray:
    found = rng.normal(size=(rows, width)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def scored(run, queries: list[str]) -> list[list[tuple[str, float]]]:
    return [list(zip(run[q].skill_ids, run[q].scores, strict=True)) for q in queries]


@pytest.mark.parametrize("block", [1, 7, 64])
def test_up11_up37_copies_in_shuffled_pools_and_any_block_give_one_run(block, monkeypatch):
    """1,000 skills, 30 of which are copies of one another in groups of three, spread over the pool."""
    rng = np.random.default_rng(0)
    vectors, queries = unit(rng, 980), unit(rng, 64)
    copies = np.concatenate([vectors, vectors[:10], vectors[:10]])
    ids = [f"s{i:04d}" for i in range(len(copies))]
    names = [f"q{i}" for i in range(64)]
    expected = scored(rank_all(ids, copies, names, queries, 200), names)
    monkeypatch.setattr(exact, "QUERIES_AT_ONCE", block)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(ids))
        run = rank_all([ids[i] for i in order], copies[order], names, queries, 200)
        assert scored(run, names) == expected
    for query in rank_all(ids, copies, names, queries, len(ids)).values():
        score = dict(zip(query.skill_ids, query.scores, strict=True))
        for i in range(10):
            assert score[ids[i]] == score[ids[980 + i]] == score[ids[990 + i]]


def test_the_number_of_threads_changes_nothing():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    rng = np.random.default_rng(1)
    vectors, queries = unit(rng, 3_000, 384), unit(rng, 20, 384)
    ids, names = [f"s{i}" for i in range(3_000)], [f"q{i}" for i in range(20)]
    runs = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            runs.append(scored(rank_all(ids, vectors, names, queries, 50), names))
    assert runs[0] == runs[1]


@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from(["max", "mean"]))
def test_it_equals_a_full_sort_of_scores_computed_one_by_one(seed, depth, score):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, 40)
    starts = np.concatenate([[0], np.cumsum(counts)])
    vectors = unit(rng, int(starts[-1]), 8)
    vectors[starts[5] : starts[5] + counts[5]] = vectors[0]  # every row of a skill the same: a tie of max and mean
    query = unit(rng, 1, 8)
    ids = [f"s{i:02d}" for i in rng.permutation(40)]
    values = []
    for first, last in pairwise(starts):
        rows = [
            float((vectors[row].astype(np.float64) * query[0].astype(np.float64)).sum()) for row in range(first, last)
        ]
        values.append(np.float32(max(rows) if score == "max" else sum(rows) / len(rows)))
    expected = sorted(range(40), key=lambda i: (-values[i], ids[i]))[:depth]
    run = rank_all(ids, vectors, ["q"], query, depth, starts=starts, score=score)
    assert run.ranked("q") == tuple(ids[i] for i in expected)
    np.testing.assert_allclose(run["q"].scores, [values[i] for i in expected], rtol=1e-6, atol=1e-7)


def test_a_skill_scores_as_its_best_passage_or_their_mean():
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    starts, query = np.array([0, 2, 3]), np.array([[1, 0]], np.float32)
    best = rank_all(["a", "b"], vectors, ["q"], query, 2, starts=starts)["q"]
    mean = rank_all(["a", "b"], vectors, ["q"], query, 2, starts=starts, score="mean")["q"]
    assert (best.skill_ids, best.scores) == (("a", "b"), (1.0, pytest.approx(0.6)))
    assert (mean.skill_ids, mean.scores) == (("b", "a"), (pytest.approx(0.6), 0.5))


@pytest.mark.parametrize("score", ["max", "mean"])
def test_the_margin_is_wider_than_the_rounding_of_the_matrix_product(score):
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 7, 500)
    starts = np.concatenate([[0], np.cumsum(counts)])
    pool = SkillVectors(unit(rng, int(starts[-1]), 384), starts, score)
    queries, every = unit(rng, 30, 384), np.arange(500)
    for query, rough in zip(queries, pool.rough(queries), strict=True):
        margin = pool.margin(query, pool.longest())
        assert np.abs(rough - pool.exact(query, every)).max() < margin / 2 < 1e-4


def test_a_score_is_the_same_alone_and_among_others(monkeypatch):
    rng = np.random.default_rng(3)
    pool = SkillVectors(unit(rng, 300, 384), np.arange(0, 301, 3), "mean")
    query = unit(rng, 1, 384)[0]
    together = pool.exact(query, np.arange(100))
    monkeypatch.setattr(exact, "ROWS_AT_ONCE", 7)
    np.testing.assert_array_equal(together, pool.exact(query, np.arange(100)))
    np.testing.assert_array_equal(together, [pool.exact(query, np.array([i]))[0] for i in range(100)])


def test_candidates_within_the_margin_of_the_last_place_are_kept():
    rough = np.array([0.9, 0.5, 0.4999, 0.3, 0.8], np.float32)
    assert candidates(rough, 3, 0.001).tolist() == [0, 1, 2, 4]
    assert candidates(rough, 9, 0.0).tolist() == [0, 1, 2, 3, 4]


def test_an_empty_pool_gives_empty_answers():
    run = rank_all([], np.zeros((0, 4), np.float32), ["q"], np.ones((1, 4), np.float32), 5)
    assert run.ranked("q") == ()
