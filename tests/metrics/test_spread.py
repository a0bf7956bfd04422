"""Spread over repeats, pooled means and reductions."""

from __future__ import annotations

import math
from statistics import pstdev, stdev

import pytest

from skillfit.errors import UserError
from skillfit.metrics import pooled_mean, relative_reduction, repeat_sds


def test_sds_equal_the_standard_librarys():
    rows = [[0.1, 0.4, 0.4], [0.2, 0.2, 0.2]]
    assert list(repeat_sds(rows)) == pytest.approx([stdev(row) for row in rows])
    assert list(repeat_sds(rows, ddof=0)) == pytest.approx([pstdev(row) for row in rows])
    assert math.isnan(repeat_sds([[0.5]])[0])
    with pytest.raises(UserError, match="skill b"):
        repeat_sds([[1, 2], [1, math.nan]], skill_ids=["a", "b"])
    with pytest.raises(UserError, match="one row a skill"):
        repeat_sds([1, 2])


def test_pooled_mean():
    assert pooled_mean([1, 2, 6]) == 3
    assert pooled_mean([1, 4], [2, 1]) == 2
    assert math.isnan(pooled_mean([]))
    for counts in ([1], [0, 0], [2, -1]):
        with pytest.raises(UserError, match="counts"):
            pooled_mean([1, 4], counts)


def test_reduction():
    assert relative_reduction(25, 100) == 75
    assert math.isnan(relative_reduction(1, 0))
