"""What the tests of training share."""

from __future__ import annotations

import pytest

from fake_training import toy_benchmark
from skillfit.data.benchmark import Benchmark


@pytest.fixture
def benchmark() -> Benchmark:
    """Thirty skills about a pair of words, with train and dev queries."""
    return toy_benchmark()
