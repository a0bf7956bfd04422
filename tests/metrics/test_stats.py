from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats as scipy_stats

from skillfit.metrics import stats
from skillfit.metrics.stats import (
    BootstrapOptions,
    Interval,
    bootstrap_mean_interval,
    bootstrap_mean_intervals,
    holm,
    minimum_detectable_effect,
    paired_bootstrap_difference,
    paired_permutation_test,
)

SKEWED = np.random.default_rng(11).exponential(size=40)
TWO_SAMPLES = [paired_bootstrap_difference, paired_permutation_test]


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_interval_equals_scipys_with_the_same_draws(method):
    options = BootstrapOptions(n_resamples=999, level=0.9, method=method, seed=4)
    found = bootstrap_mean_interval(SKEWED, options)
    theirs = scipy_stats.bootstrap(
        (SKEWED,), np.mean, n_resamples=999, confidence_level=0.9, method=method, rng=np.random.default_rng(4)
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert found.value == pytest.approx(SKEWED.mean())
    assert found.n == 40


def test_bca_moves_the_interval_of_a_skewed_sample_up():
    percentile, bca = (bootstrap_mean_interval(SKEWED, BootstrapOptions(method=m)) for m in ("percentile", "BCa"))
    assert bca.high > percentile.high


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_columns_share_resamples_and_equal_the_single_columns(method):
    table, options = np.random.default_rng(1).random((25, 3)), BootstrapOptions(n_resamples=300, method=method)
    table[:, 1] = 0.1  # a constant column between others
    found = bootstrap_mean_intervals(table, options)
    assert found[1] == Interval(0.1, 0.1, 0.1, 25)
    for j in (0, 2):
        alone = bootstrap_mean_interval(table[:, j], options)
        assert (found[j].low, found[j].high) == pytest.approx((alone.low, alone.high), abs=1e-12)


def test_chunks_of_resamples_give_the_same_interval(monkeypatch):
    whole = bootstrap_mean_interval(SKEWED)
    monkeypatch.setattr(stats, "MAX_DRAWS", 640)  # 16 resamples at a time
    assert bootstrap_mean_interval(SKEWED).low == pytest.approx(whole.low, abs=1e-12)


def test_seed_decides():
    assert bootstrap_mean_interval(SKEWED) == bootstrap_mean_interval(SKEWED)
    assert bootstrap_mean_interval(SKEWED) != bootstrap_mean_interval(SKEWED, BootstrapOptions(seed=1))


def test_interval_covers_the_true_mean_about_as_often_as_it_says():
    rng, hits = np.random.default_rng(0), 0
    for seed in range(300):
        found = bootstrap_mean_interval(rng.normal(size=75), BootstrapOptions(n_resamples=400, seed=seed))
        hits += found.low <= 0 <= found.high
    assert 0.90 <= hits / 300 <= 0.985


@pytest.mark.parametrize("method", ["percentile", "BCa"])
@pytest.mark.parametrize("values", [[0.3], [0.1] * 7, [0.0, 0.0]])
def test_no_spread_gives_an_interval_of_no_width(values, method):
    value, n = values[0], len(values)
    assert bootstrap_mean_interval(values, BootstrapOptions(method=method)) == Interval(value, value, value, n)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_one_success_among_many_gives_finite_bounds(method):
    found = bootstrap_mean_interval([1.0, *[0.0] * 20], BootstrapOptions(method=method))
    assert 0 <= found.low < found.high <= 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_undefined_bca_interval_is_refused_not_reported_as_nan():
    with pytest.warns(Warning, match="BCa"), pytest.raises(ValueError, match="use method=percentile or more resamples"):
        bootstrap_mean_interval(SKEWED, BootstrapOptions(n_resamples=1, method="BCa"))


def test_empty_sample_is_refused():
    with pytest.raises(ValueError, match="values is empty"):
        bootstrap_mean_interval([])
    with pytest.raises(ValueError, match="shape"):
        bootstrap_mean_intervals(np.zeros((0, 2)))
    for test in TWO_SAMPLES:
        with pytest.raises(ValueError, match="a is empty"):
            test([], [])


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_value_that_is_not_finite_is_named_by_its_position(wrong):
    with pytest.raises(ValueError, match=rf"values\[2\] = {wrong}"):
        bootstrap_mean_interval([0.0, 1.0, wrong])
    with pytest.raises(ValueError, match=r"values\[1, 0\]"):
        bootstrap_mean_intervals([[0.0, 1.0], [wrong, 1.0]])
    for test in TWO_SAMPLES:
        with pytest.raises(ValueError, match=r"b\[1\]"):
            test([0.0, 1.0], [0.0, wrong])


@pytest.mark.parametrize("test", TWO_SAMPLES)
def test_pairs_must_match(test):
    with pytest.raises(ValueError, match="a has 2 values and b has 3"):
        test([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match="1-D"):
        test([[0, 1]], [[0, 1]])


@pytest.mark.parametrize(
    "wrong", [{"n_resamples": 0}, {"level": 1}, {"level": 95}, {"method": "bca"}, {"seed": -1}, {"resamples": 10}]
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        BootstrapOptions(**wrong)


def test_paired_difference_is_the_interval_of_the_differences():
    a, b = np.random.default_rng(1).random((2, 30))
    assert paired_bootstrap_difference(a, b) == bootstrap_mean_interval(a - b)
    assert paired_bootstrap_difference(a, a) == Interval(0, 0, 0, 30)


def test_exact_permutation_by_hand():
    found = paired_permutation_test([1, 2, 3], [0, 0, 0])
    assert (found.difference, found.p_value, found.n, found.is_exact) == (2.0, 2 / 8, 3, True)


@pytest.mark.parametrize("n", [1, 2, 5, 11])
def test_exact_permutation_equals_scipy_and_enumeration(n):
    a, b = np.random.default_rng(n).integers(0, 4, (2, n)) / 3  # thirds: sums equal on paper differ in the last bit
    found = paired_permutation_test(a, b, n_resamples=5000)
    assert found.is_exact
    difference = a - b
    sums = [abs(np.dot(signs, difference)) for signs in itertools.product((1, -1), repeat=n)]
    assert found.p_value == pytest.approx(np.mean(np.array(sums) >= abs(difference.sum()) - 1e-9))
    assert difference.any()
    if n > 1:  # scipy takes no single pair
        theirs = scipy_stats.permutation_test(
            (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
        )
        assert found.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.1])
def test_random_permutation_is_close_to_scipys(shift):
    rng = np.random.default_rng(2)
    a, b = rng.random(80) + shift, rng.random(80)
    found = paired_permutation_test(a, b, n_resamples=20_000)
    theirs = scipy_stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=20_000, rng=np.random.default_rng(1),
    )  # fmt: skip
    assert not found.is_exact
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.015)
    assert found == paired_permutation_test(a, b, n_resamples=20_000)


def test_random_permutation_never_gives_zero_and_counts_the_observed_one():
    found = paired_permutation_test(np.ones(50), np.zeros(50), n_resamples=999)
    assert (found.p_value, found.is_exact) == (1 / 1000, False)


def test_pairs_that_do_not_differ_leave_the_p_value_and_open_the_exact_way():
    a, b = np.zeros(500), np.zeros(500)
    a[:6] = 1
    found = paired_permutation_test(a, b)
    assert (found.p_value, found.is_exact, found.n) == (2 / 64, True, 500)


def test_no_difference_at_all_is_p_one():
    found = paired_permutation_test([0.2, 0.5], [0.2, 0.5])
    assert (found.difference, found.p_value, found.is_exact) == (0.0, 1.0, True)
    assert paired_permutation_test([0.3], [0.1]).p_value == 1.0  # one pair can show nothing


def test_permutation_needs_resamples():
    with pytest.raises(ValueError, match="n_resamples = 0"):
        paired_permutation_test([1], [0], n_resamples=0)


def test_p_values_are_uniform_when_nothing_differs():
    rng = np.random.default_rng(8)
    p_values = [paired_permutation_test(*rng.normal(size=(2, 20)), n_resamples=500).p_value for _ in range(400)]
    assert 0.02 <= np.mean(np.array(p_values) <= 0.05) <= 0.09
    assert 0.4 <= np.mean(p_values) <= 0.6


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_permutation_is_symmetric_and_in_zero_one(pairs):
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    one, other = paired_permutation_test(a, b, n_resamples=200), paired_permutation_test(b, a, n_resamples=200)
    assert 0 < one.p_value <= 1
    assert one.p_value == other.p_value
    assert one.difference == -other.difference


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_monotone_and_between_raw_and_bonferroni(p_values):
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= min(1.0, len(p_values) * p)
    order = np.argsort(p_values, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.1])
def test_holm_refuses_what_is_no_probability(wrong):
    with pytest.raises(ValueError, match=r"p_values\[1\]"):
        holm([0.5, wrong])


def test_minimum_detectable_effect_by_hand_and_by_simulation():
    assert minimum_detectable_effect(1.0, 100) == pytest.approx((1.959964 + 0.841621) / 10, abs=1e-6)
    assert minimum_detectable_effect(0.0, 10) == 0.0
    effect = minimum_detectable_effect(0.4, 75, power=0.8)
    rng = np.random.default_rng(0)
    samples = rng.normal(effect, 0.4, size=(4000, 75))
    found = scipy_stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_minimum_detectable_effect_halves_with_four_times_the_queries():
    assert minimum_detectable_effect(0.5, 300) == pytest.approx(minimum_detectable_effect(0.5, 75) / 2)


@pytest.mark.parametrize(
    "arguments",
    [(math.nan, 10, {}), (-1, 10, {}), (1, 0, {}), (1, 10, {"alpha": 0}), (1, 10, {"power": 1})],
)
def test_minimum_detectable_effect_refuses_arguments_out_of_range(arguments):
    sd, n, options = arguments
    with pytest.raises(ValueError, match="use"):
        minimum_detectable_effect(sd, n, **options)
