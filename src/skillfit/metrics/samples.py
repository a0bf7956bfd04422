"""Scores and outcomes of the same skills as arrays, with the skill named that has no number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skillfit.errors import UserError

Floats = NDArray[np.float64]


def sample(values: ArrayLike, name: str, skill_ids: Sequence[str] | None = None) -> Floats:
    """A 1-D array of numbers, one a skill; it may be empty.

    Raises UserError for NaN, naming the skill (its position where no ids are given), for text and for another shape.
    """
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(name, fix=f"holds something that is no number ({error})") from error
    if found.ndim != 1:
        raise UserError(name, "shape", found.shape, "give a 1-D sample, one value a skill")
    if skill_ids is not None and len(skill_ids) != len(found):
        raise UserError(name, "length", len(found), f"{len(skill_ids)} skill ids are given; give one value a skill")
    missing = np.flatnonzero(np.isnan(found))
    if len(missing):
        at = int(missing[0])
        skill = f"skill {skill_ids[at]}" if skill_ids is not None else f"position {at}"
        more = f" ({len(missing)} in all)" if len(missing) > 1 else ""
        raise UserError(name, skill, "nan", f"has no number{more}; leave the skill out on purpose or give its value")
    return found


def paired_samples(
    scores: ArrayLike, performance: ArrayLike, skill_ids: Sequence[str] | None = None
) -> tuple[Floats, Floats]:
    """Two samples of the same skills, position by position. Raises UserError as `sample` does, or if lengths differ."""
    first, second = sample(scores, "scores", skill_ids), sample(performance, "performance", skill_ids)
    if len(first) != len(second):
        raise UserError(
            "scores", "length", len(first), f"performance has {len(second)} values; give one of each a skill"
        )
    return first, second
