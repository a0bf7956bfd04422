"""Spearman's rho, its p-value and the marks, against scipy and the edge cases."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from skillfit.errors import UserError
from skillfit.metrics import significance_mark, spearman, spearman_p_value

FEW = st.integers(0, 5).map(float)


@given(st.lists(st.tuples(FEW, FEW), min_size=3, max_size=40))
def test_equals_scipy_with_ties(rows):
    a, b = [x for x, _ in rows], [y for _, y in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of constant samples
        theirs = spearmanr(a, b)
    ours = spearman(a, b)
    assert ours.rho == pytest.approx(theirs.statistic, abs=1e-12, nan_ok=True)
    assert ours.p_value == pytest.approx(
        theirs.pvalue, abs=1e-6, nan_ok=True
    )  # near |rho| = 1 theirs is off 1 by 1e-16
    assert ours.n == len(rows)


def test_p_of_a_long_sample_equals_scipy():
    rng = np.random.default_rng(3)
    a = rng.normal(size=300)
    b = 0.2 * a + rng.normal(size=300)
    theirs = spearmanr(a, b)
    assert spearman_p_value(spearman(a, b).rho, 300) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_edges():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(spearman([], []).rho)
        assert math.isnan(spearman([1], [2]).rho)
        assert math.isnan(spearman([1, 1, 1], [1, 2, 3]).rho)
        assert math.isnan(spearman([1, 2, 3], [4, 4, 4]).p_value)
        two = spearman([1, 2], [5, 9])
        assert two.rho == 1.0
        assert math.isnan(two.p_value)
        assert spearman([3, 1, 2], [1, 3, 2]).p_value == 0.0
    with pytest.raises(UserError, match="skill s2"):
        spearman([1, 2, 3], [1, 2, math.nan], ["s0", "s1", "s2"])
    with pytest.raises(ValueError, match=r"rho = 1\.5"):
        spearman_p_value(1.5, 10)


@pytest.mark.parametrize(
    ("p_value", "mark"),
    [
        (0.0, "***"),
        (0.00099, "***"),
        (0.001, "**"),
        (0.01, "*"),
        (0.0499, "*"),
        (0.05, "ns"),
        (1, "ns"),
        (math.nan, ""),
    ],
)
def test_marks(p_value, mark):
    assert significance_mark(p_value) == mark


def test_the_mark_depends_on_n_alone_for_one_rho():
    """MCRI's Tables 2 and 3: .134 is marked * and .082 ns, which n = 305 gives and the 606 of Table 1 does not."""
    assert [significance_mark(spearman_p_value(0.134, n)) for n in (305, 606)] == ["*", "***"]
    assert [significance_mark(spearman_p_value(0.082, n)) for n in (305, 606)] == ["ns", "*"]


def test_a_p_outside_its_range_is_refused():
    with pytest.raises(UserError, match=r"p_value = 1\.2"):
        significance_mark(1.2)
