"""Windows, score limits and lazy shuffles, on rankings small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skillfit.data.candidates import KindOptions, generator, in_window, score_limit, shuffled
from skillfit.types import Ranking

RANKING = Ranking(tuple("abcdef"), (9.0, 8.0, 7.0, 6.0, 5.0, 4.0))


def window(**options):
    return [(c.skill_id, c.rank, c.score) for c in in_window(RANKING, KindOptions(count=1, **options), generator(0))]


def test_a_window_holds_its_first_and_last_rank():
    assert window(window=(2, 4)) == [("b", 2, 8.0), ("c", 3, 7.0), ("d", 4, 6.0)]
    assert window(window=(5, 60)) == [("e", 5, 5.0), ("f", 6, 4.0)]
    assert window(window=(7, 60)) == []
    assert len(window()) == 6


def test_a_sample_is_of_the_window_and_of_nothing_else():
    found = window(window=(2, 5), take="sample")
    assert sorted(found) == window(window=(2, 5))
    firsts = {
        next(in_window(RANKING, KindOptions(count=1, window=(2, 5), take="sample"), generator(0, str(i)))).skill_id
        for i in range(60)
    }
    assert firsts == set("bcde")


@pytest.mark.parametrize(
    ("options", "positives", "limit"),
    [
        ({}, {"c"}, None),
        ({"margin": 0.5}, {"c"}, 6.5),
        ({"max_ratio": 0.5}, {"c"}, 3.5),
        ({"margin": 3.0, "max_ratio": 0.5}, {"c"}, 3.5),
        ({"margin": 6.0, "max_ratio": 0.5}, {"c"}, 1.0),
        ({"margin": 0.5}, {"a", "d"}, 5.5),  # it holds for the lowest positive, and so for each
        ({"margin": 0.5}, {"x"}, None),
        ({"margin": 0.0}, {"c", "x"}, 7.0),
    ],
)
def test_score_limits(options, positives, limit):
    assert score_limit(RANKING, KindOptions(count=1, **options), positives) == limit


@pytest.mark.parametrize(("score", "limit"), [(2.0, 1.8), (0.0, 0.0), (-2.0, -2.2)])
def test_a_ratio_lies_below_the_positive_whatever_its_sign(score, limit):
    ranking = Ranking(("a",), (score,))
    assert score_limit(ranking, KindOptions(count=1, max_ratio=0.9), {"a"}) == pytest.approx(limit)


@given(st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_a_shuffle_is_a_permutation(count, seed):
    assert sorted(shuffled(count, np.random.default_rng(seed))) == list(range(count))


def test_a_shuffle_has_no_favourite():
    """Every position comes first, second and third about equally often; 4 standard deviations of a share of 1/6."""
    counts = np.zeros((3, 6))
    for i in range(3000):
        for place, value in zip(range(3), shuffled(6, np.random.default_rng(i)), strict=False):
            counts[place, value] += 1
    assert np.abs(counts / 3000 - 1 / 6).max() < 4 * np.sqrt((1 / 6) * (5 / 6) / 3000)


def test_a_generator_follows_seed_and_names():
    first = [int(generator(*names).integers(1 << 40)) for names in ((1, "q", "k"), (1, "q", "k"))]
    assert first[0] == first[1]
    others = [(2, "q", "k"), (1, "qk", ""), (1, "q", "l"), (1, "", "qk")]
    assert len({first[0], *(int(generator(*names).integers(1 << 40)) for names in others)}) == 5


@pytest.mark.parametrize("options", [{"count": -1}, {"count": 1, "max_ratio": 1.5}, {"count": 1, "margn": 1}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ValidationError):
        KindOptions(**options)
