"""What every ranking measure asks of its arguments."""

from __future__ import annotations

from collections.abc import Collection


def check_arguments(judged: Collection[str], k: int) -> None:
    """Raise ValueError for a cutoff below 1 or a query without judgements: no measure is defined on either."""
    if k < 1:
        raise ValueError(f"cutoff k = {k}: use an integer >= 1")
    if not judged:
        raise ValueError("the query has no right answer: leave it out and count it, there is nothing to measure")
