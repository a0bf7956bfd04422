"""The one statistics module: intervals, paired tests, correction for many tests, and what a sample can detect.

Samples are 1-D, one value a query; n = 0 and non-finite values raise ValueError, naming the position. Everything random
is a function of its seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

Floats = NDArray[np.float64]
MAX_DRAWS = 4_000_000  # draws held in memory at once: 32 MB an array


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class BootstrapOptions:
    """How intervals are drawn: the number of resamples, the level, percentile or BCa (Efron 1987), and the seed."""

    n_resamples: int = Field(default=2000, ge=1)
    level: float = Field(default=0.95, gt=0, lt=1)
    method: Literal["percentile", "BCa"] = "percentile"
    seed: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over n queries and the bounds of its confidence interval."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Mean of a - b over n pairs, the two-sided p-value, and whether every sign pattern was enumerated."""

    difference: float
    p_value: float
    n: int
    is_exact: bool


DEFAULT_BOOTSTRAP = BootstrapOptions()


def bootstrap_mean_interval(values: ArrayLike, options: BootstrapOptions = DEFAULT_BOOTSTRAP) -> Interval:
    """The mean of a sample with its bootstrap interval over queries (Efron and Tibshirani 1993, ch. 13-14).

    n = 1, or all values equal: both bounds are that value, as nothing can be said about the spread.
    """
    return bootstrap_mean_intervals(_sample(values, "values")[:, None], options)[0]


def bootstrap_mean_intervals(values: ArrayLike, options: BootstrapOptions = DEFAULT_BOOTSTRAP) -> list[Interval]:
    """One interval a column of `values` (n, M), all columns from the same resamples of the n rows."""
    table = _finite(np.asarray(values, dtype=np.float64), "values")
    if table.ndim != 2 or len(table) == 0:
        raise ValueError(f"values of shape {table.shape}: give (n, M) with n >= 1")
    is_constant = (table == table[0]).all(axis=0)
    means = np.where(is_constant, table[0], table.mean(axis=0))
    low, high = means.copy(), means.copy()
    if not is_constant.all():
        bounds = _bca_bounds if options.method == "BCa" else _percentile_bounds
        low[~is_constant], high[~is_constant] = bounds(table[:, ~is_constant], options)
    return [Interval(float(m), float(a), float(b), len(table)) for m, a, b in zip(means, low, high, strict=True)]


def paired_bootstrap_difference(a: ArrayLike, b: ArrayLike, options: BootstrapOptions = DEFAULT_BOOTSTRAP) -> Interval:
    """The mean of a - b over queries with its bootstrap interval; position i of both is the same query."""
    return bootstrap_mean_interval(_differences(a, b), options)


def paired_permutation_test(a: ArrayLike, b: ArrayLike, *, n_resamples: int = 10_000, seed: int = 0) -> PermutationTest:
    """Two-sided sign-flip test of mean(a - b) = 0 (Fisher 1935); position i of both is the same query.

    Pairs that do not differ leave the distribution as it is and are set aside. With d others, all 2^d patterns are
    enumerated if they are no more than n_resamples; else n_resamples random ones are drawn and p = (1 + extreme) /
    (1 + n_resamples) (Phipson and Smyth 2010), so p is never 0. No pair differs: p = 1.
    """
    if n_resamples < 1:
        raise ValueError(f"n_resamples = {n_resamples}: use an integer >= 1")
    differences = _differences(a, b)
    mean, n = float(differences.mean()), len(differences)
    moved = differences[differences != 0]
    if not len(moved):
        return PermutationTest(mean, 1.0, n, is_exact=True)
    is_exact = len(moved) < 63 and 2 ** len(moved) <= n_resamples
    # sums that are equal on paper differ in their last bits, and must count as equally extreme
    bound = abs(moved.sum()) - 1e-12 * np.abs(moved).sum()
    patterns = _all_signs(len(moved)) if is_exact else _random_signs(len(moved), n_resamples, seed)
    extreme = sum(int((np.abs(signs @ moved) >= bound).sum()) for signs in patterns)
    p_value = extreme / 2 ** len(moved) if is_exact else (1 + extreme) / (1 + n_resamples)
    return PermutationTest(mean, p_value, n, is_exact)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number by Holm's step-down rule (1979), in the order given; all true errors <= alpha.

    Raises ValueError for a p-value outside [0, 1]. No p-values give none.
    """
    for position, p_value in enumerate(p_values):
        if not 0 <= p_value <= 1:
            raise ValueError(f"p_values[{position}] = {p_value}: use a number in [0, 1]")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def minimum_detectable_effect(sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true mean difference that a two-sided paired test finds with probability `power`.

    sd: standard deviation of the per-query differences. Normal approximation, (z(1 - alpha/2) + z(power)) sd / sqrt(n),
    which is about 5 % too small at n = 20 and 1 % at n = 75. Raises ValueError for arguments out of range.
    """
    if not (math.isfinite(sd) and sd >= 0):
        raise ValueError(f"sd = {sd}: use a finite number >= 0")
    if n < 1:
        raise ValueError(f"n = {n}: use an integer >= 1")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError(f"alpha = {alpha}, power = {power}: use numbers in (0, 1)")
    normal = NormalDist()
    return max(0.0, normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * sd / math.sqrt(n)


def _percentile_bounds(table: Floats, options: BootstrapOptions) -> tuple[Floats, Floats]:
    means = np.concatenate([counts @ table for counts in _resample_counts(len(table), options)]) / len(table)
    tail = 50 * (1 - options.level)
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    return low, high


def _resample_counts(n: int, options: BootstrapOptions) -> Iterator[Floats]:
    """How often each of n rows occurs in each resample, (chunk, n): one matrix product then gives all the means."""
    rng = np.random.default_rng(options.seed)
    for size in _chunks(options.n_resamples, n):
        drawn = rng.integers(0, n, size=(size, n))
        drawn += n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _bca_bounds(table: Floats, options: BootstrapOptions) -> tuple[Floats, Floats]:
    from scipy.stats import bootstrap

    result = bootstrap(
        (table.T,),
        np.mean,
        axis=-1,
        n_resamples=options.n_resamples,
        confidence_level=options.level,
        method="BCa",
        batch=max(1, MAX_DRAWS // table.size),
        rng=np.random.default_rng(options.seed),
    )
    low, high = result.confidence_interval
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError("the BCa interval is undefined for these values: use method=percentile or more resamples")
    return low, high


def _all_signs(n: int) -> Iterator[Floats]:
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    yield (1 - 2 * bits).astype(np.float64)


def _random_signs(n: int, n_resamples: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    for size in _chunks(n_resamples, n):
        yield (1 - 2 * rng.integers(0, 2, size=(size, n), dtype=np.int8)).astype(np.float64)


def _chunks(n_resamples: int, n: int) -> Iterator[int]:
    chunk = max(1, MAX_DRAWS // n)
    for start in range(0, n_resamples, chunk):
        yield min(chunk, n_resamples - start)


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    first, second = _sample(a, "a"), _sample(b, "b")
    if len(first) != len(second):
        raise ValueError(f"a has {len(first)} values and b has {len(second)}: give one pair a query")
    return first - second


def _sample(values: ArrayLike, name: str) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1:
        raise ValueError(f"{name} of shape {sample.shape}: give a 1-D sample, one value a query")
    if not len(sample):
        raise ValueError(f"{name} is empty: at least one query is needed")
    return _finite(sample, name)


def _finite(values: Floats, name: str) -> Floats:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        position = ", ".join(str(i) for i in wrong[0])
        raise ValueError(f"{name}[{position}] = {values[tuple(wrong[0])]}: every value must be finite")
    return values
