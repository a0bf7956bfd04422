"""Measures of rankings and the statistics around them: pure functions of data."""

from skillfit.metrics.concordance import c_index
from skillfit.metrics.correlation import Correlation, significance_mark, spearman, spearman_p_value
from skillfit.metrics.extremes import Extremes, extreme_classes
from skillfit.metrics.measures import DEFAULT_MEASURES, Measure, parse_measure, parse_measures
from skillfit.metrics.rank_score import gain_over_strongest, rank_curve, rank_score, rank_scores
from skillfit.metrics.scoring import QueryScores, ScoreCounts, paired, score_run
from skillfit.metrics.spread import pooled_mean, relative_reduction, repeat_sds
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
from skillfit.metrics.top_k import top_k_mean, top_k_means

__all__ = [
    "DEFAULT_MEASURES",
    "BootstrapOptions",
    "Correlation",
    "Extremes",
    "Interval",
    "Measure",
    "PermutationTest",
    "QueryScores",
    "ScoreCounts",
    "SummaryRow",
    "bootstrap_mean_interval",
    "bootstrap_mean_intervals",
    "c_index",
    "extreme_classes",
    "gain_over_strongest",
    "holm",
    "minimum_detectable_effect",
    "paired",
    "paired_bootstrap_difference",
    "paired_permutation_test",
    "parse_measure",
    "parse_measures",
    "pooled_mean",
    "rank_curve",
    "rank_score",
    "rank_scores",
    "relative_reduction",
    "repeat_sds",
    "score_run",
    "significance_mark",
    "spearman",
    "spearman_p_value",
    "summarise",
    "top_k_mean",
    "top_k_means",
]
