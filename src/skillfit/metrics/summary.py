"""From one value a query to one row a group and measure: the macro mean and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillfit.errors import UserError, suggest
from skillfit.metrics.scoring import QueryScores
from skillfit.metrics.stats import DEFAULT_BOOTSTRAP, BootstrapOptions, bootstrap_mean_intervals
from skillfit.types import SIZE

NOT_GIVEN = "(not given)"  # the value of a query that says nothing on an axis


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """The mean of a measure over the n scored queries of a group, with the bounds of its bootstrap interval."""

    group: str
    measure: str
    value: float
    low: float
    high: float
    n: int


def summarise(
    scores: QueryScores, axes: Sequence[str] = (), bootstrap: BootstrapOptions = DEFAULT_BOOTSTRAP
) -> list[SummaryRow]:
    """Rows for `all`, `single`, `multi` and, for each axis named, `axis=value`, in this order; empty groups have none.

    Each query weighs the same. All measures of a group share its resamples, and two runs scored on the same queries in
    the same order share them too. n = 1 gives an interval of no width. A query silent on an axis is under
    `axis=(not given)`. Raises UserError for an axis that no query has, or if no query was scored at all.
    """
    if not scores.query_ids:
        reasons = f"none {scores.counts.none}, unjudged {scores.counts.unjudged}, missing {scores.counts.missing}"
        left = f"{reasons}, outside the pool {scores.counts.outside_pool}"
        raise UserError("metrics", "scored queries", 0, f"of {scores.counts.queries} given; left out: {left}")
    table = np.column_stack(list(scores.values.values()))
    rows = []
    for group, members in _groups(scores, axes).items():
        for measure, found in zip(scores.values, bootstrap_mean_intervals(table[members], bootstrap), strict=True):
            rows.append(SummaryRow(group, measure, found.value, found.low, found.high, found.n))
    return rows


def _groups(scores: QueryScores, axes: Sequence[str]) -> dict[str, list[int]]:
    sizes = [groups[SIZE] for groups in scores.groups]
    found = {"all": list(range(len(sizes)))}
    for size in ("single", "multi"):
        found[size] = [i for i, value in enumerate(sizes) if value == size]
    known = {axis for groups in scores.groups for axis in groups}
    for axis in axes:
        if axis not in known:
            raise UserError("metrics", "group axis", axis, suggest(axis, known))
        if axis == SIZE:
            continue  # single and multi are there already
        values = [groups.get(axis, NOT_GIVEN) for groups in scores.groups]
        for value in sorted(set(values)):
            found[f"{axis}={value}"] = [i for i, other in enumerate(values) if other == value]
    return {group: members for group, members in found.items() if members}
