from __future__ import annotations

import pytest

from skillfit.analysis import numbers


@pytest.mark.parametrize(
    ("value", "want"), [(0.12345, "12.3"), (1, "100.0"), (-0.0001, "0.0"), (-0.052, "−5.2"), (None, "–")]
)
def test_percent(value, want):
    assert numbers.percent(value) == want


@pytest.mark.parametrize(
    ("value", "want"), [(0.1, "+10.0"), (-0.1, "−10.0"), (0.0, "0.0"), (-1e-9, "0.0"), (None, "–")]
)
def test_signed(value, want):
    assert numbers.signed(value) == want


def test_p_values_and_shares_never_round_to_nothing():
    assert numbers.p_value(0.0001) == "< 0.001"
    assert numbers.p_value(0.05) == "0.050"
    assert numbers.share(0.0001) == "< 0.1 %"
    assert numbers.share(0.0) == "0.0 %"
