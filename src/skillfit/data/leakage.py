"""The leakage guard: training pairs against what a test asks and requires."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import PairSet

log = logging.getLogger(__name__)
Rule = Literal["refuse", "warn", "allow"]


def protected_skills(benchmark: Benchmark, protected: Sequence[Benchmark]) -> frozenset[str]:
    """Ids, in the benchmark's corpus, of the skills that a protected benchmark requires, copies included."""
    return frozenset()


def check_leakage(
    pairs: PairSet, benchmark: Benchmark, protected: Sequence[Benchmark], rule: Rule
) -> Mapping[str, Any]:
    """Stand-in."""
    return {}
