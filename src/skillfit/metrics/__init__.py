"""Measures of rankings and the statistics around them: pure functions of data."""

from skillfit.metrics.measures import DEFAULT_MEASURES, Measure, parse_measure, parse_measures
from skillfit.metrics.scoring import QueryScores, ScoreCounts, paired, score_run
from skillfit.metrics.stats import (
    BootstrapOptions,
    Interval,
    PermutationTest,
    bootstrap_mean_interval,
    bootstrap_mean_intervals,
    holm,
    minimum_detectable_effect,
    paired_bootstrap_difference,
    paired_permutation_test,
)
from skillfit.metrics.summary import SummaryRow, summarise

__all__ = [
    "DEFAULT_MEASURES",
    "BootstrapOptions",
    "Interval",
    "Measure",
    "PermutationTest",
    "QueryScores",
    "ScoreCounts",
    "SummaryRow",
    "bootstrap_mean_interval",
    "bootstrap_mean_intervals",
    "holm",
    "minimum_detectable_effect",
    "paired",
    "paired_bootstrap_difference",
    "paired_permutation_test",
    "parse_measure",
    "parse_measures",
    "score_run",
    "summarise",
]
