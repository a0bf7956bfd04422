"""Learning-rate schedules as multipliers of the peak rate."""

from __future__ import annotations

import math


def warmup_then_decay(step: int, *, total: int, warmup_share: float, shape: str) -> float:
    """Rise linearly over the first `warmup_share` of `total` steps, then fall to 0 (`linear`, `cosine`) or stay.

    step: optimiser steps done so far, from 0. Returns a multiplier in (0, 1].
    """
    warmup = max(1, round(total * warmup_share)) if warmup_share > 0 else 0
    if step < warmup:
        return (step + 1) / warmup
    if shape == "constant":
        return 1.0
    done = min(1.0, (step - warmup) / max(1, total - warmup))
    floor = 1e-3  # the last step still learns a little; a rate of exactly 0 would waste it
    return max(floor, 1.0 - done if shape == "linear" else 0.5 * (1.0 + math.cos(math.pi * done)))
