"""Extreme classes against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from skillfit.errors import UserError
from skillfit.metrics import extreme_classes


@pytest.mark.parametrize("seed", range(4))
def test_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    outcome = rng.permutation(200).astype(float)
    scores = np.round(outcome / 100 + rng.normal(size=200), 1)
    found = extreme_classes(scores, outcome, 0.15)
    chosen = (outcome >= 170) | (outcome < 30)
    truth, values = outcome[chosen] >= 170, scores[chosen]
    said = values > np.median(values)
    assert (found.n_high, found.n_low) == (30, 30)
    assert found.auc == pytest.approx(roc_auc_score(truth, values), abs=1e-12)
    assert found.accuracy == pytest.approx(accuracy_score(truth, said))
    assert found.f1 == pytest.approx(f1_score(truth, said))


def test_ties_at_the_edge_of_a_class_belong_to_it():
    found = extreme_classes([1, 2, 3, 4, 5, 6], [0, 0, 0, 5, 9, 9], 1 / 6)
    assert (found.n_high, found.n_low, found.auc) == (2, 3, 1.0)


def test_edges():
    same = extreme_classes([1, 2, 3], [4, 4, 4], 0.3)
    assert (same.n_high, same.n_low) == (0, 0)
    assert math.isnan(same.auc)
    assert math.isnan(extreme_classes([], [], 0.15).f1)
    with pytest.raises(UserError, match=r"share = 0\.7"):
        extreme_classes([1, 2], [1, 2], 0.7)
    with pytest.raises(UserError, match="skill b"):
        extreme_classes([1, 2], [1, math.nan], 0.5, ["a", "b"])
