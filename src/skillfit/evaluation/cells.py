"""Published and synthetic table cells, replayed through the public metric functions: inputs -> expected within tol."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillfit.errors import UserError, suggest
from skillfit.io import read_json
from skillfit.metrics import (
    c_index,
    gain_over_strongest,
    parse_measure,
    pooled_mean,
    rank_score,
    relative_reduction,
    significance_mark,
    spearman,
    spearman_p_value,
    top_k_mean,
)

ROUNDING = 0.0005  # half a unit of the last printed digit of rho
EXACT = 1e-12  # how far a number may be off where a cell states no tolerance
Inputs = Mapping[str, Any]
Fixtures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CellResult:
    """One cell: its id and metric, what was found, and why it failed (empty if it passed)."""

    cell_id: str
    metric: str
    kind: str
    found: Any
    reason: str = ""

    @property
    def passed(self) -> bool:
        """Whether what was found equals what was expected within the tolerance."""
        return not self.reason


def replay_cells(path: Path | str) -> list[CellResult]:
    """Replay every cell of a file in the format of `golden_cells.json`; a cell that cannot be replayed has failed.

    The file holds `cells`, each with id, metric, inputs, expected and tol (null: equal), and `fixtures` that inputs may
    name. expected null stands for NaN. Raises UserError for a file of another form.
    """
    document = read_json(path, allow_nan=True)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise UserError(path, "cells", fix="expected an object with a list of cells, each an object")
    fixtures = document.get("fixtures") or {}
    return [_replay(cell, fixtures, position) for position, cell in enumerate(cells)]


def _replay(cell: Mapping[str, Any], fixtures: Fixtures, position: int) -> CellResult:
    cell_id, metric = str(cell.get("id", f"cells[{position}]")), str(cell.get("metric"))
    kind = str(cell.get("kind", ""))
    try:
        if metric not in REPLAYS:
            raise UserError(cell_id, "metric", metric, suggest(metric, REPLAYS))
        if "expected" not in cell:
            raise UserError(cell_id, "expected", fix="is missing")
        found = REPLAYS[metric](cell.get("inputs") or {}, fixtures, cell["expected"])
    except KeyError as error:
        return CellResult(cell_id, metric, kind, None, f"the inputs lack {error}")
    except (UserError, TypeError, ValueError, ArithmeticError) as error:
        return CellResult(cell_id, metric, kind, None, str(error))
    reason = _difference(found, cell["expected"], cell.get("tol"))
    return CellResult(cell_id, metric, kind, found, reason)


def _difference(found: Any, expected: Any, tolerance: Any) -> str:
    """Why a value is not the expected one; empty if it is."""
    if isinstance(expected, Mapping):
        faults = {key: _difference(found.get(key), value, tolerance) for key, value in expected.items()}
        return "; ".join(f"{key}: {fault}" for key, fault in faults.items() if fault)
    if isinstance(expected, list):
        faults = {i: _difference(f, e, tolerance) for i, (f, e) in enumerate(zip(found, expected, strict=True))}
        return "; ".join(f"[{i}]: {fault}" for i, fault in faults.items() if fault)
    if isinstance(expected, str) or isinstance(found, str):
        return "" if found == expected else f"found {found!r}, expected {expected!r}"
    if expected is None or math.isnan(expected):
        return "" if found is None or math.isnan(found) else f"found {found}, expected no number"
    allowed = EXACT if tolerance is None else float(tolerance)
    # a difference of exactly tol is within it, though the last bits of both numbers may say otherwise
    is_close = found is not None and abs(found - expected) <= allowed + 1e-12 * max(1.0, abs(expected))
    return "" if is_close else f"found {found}, expected {expected} within {allowed:g}"


def _levels(fixture: str, fixtures: Fixtures) -> list[float]:
    """The performance levels of a fixture's skills, one a skill."""
    if fixture not in fixtures:
        raise UserError("fixtures", "fixture", fixture, suggest(fixture, fixtures))
    return [float(level) for level, count in fixtures[fixture]["levels_and_counts"] for _ in range(count)]


def _rank_score_of_level(given: Inputs, fixtures: Fixtures, _: Any) -> float:
    unit = given["unit"]
    values = [level / unit for level in _levels(given["fixture"], fixtures)]
    return rank_score(values, given["query_level_num"] / given["query_level_den"] / unit)


def _mark(given: Inputs, _: Fixtures, expected: Any) -> str:
    """The mark of rho as printed; where rounding decides, the expected one if any rho that rounds to it has it."""
    rho, n = given["rho"], given["n"]
    tried = (rho, rho - ROUNDING, rho + ROUNDING) if given.get("edge_of_rounding") else (rho,)
    marks = [significance_mark(spearman_p_value(max(-1.0, min(1.0, value)), n)) for value in tried]
    return str(expected) if expected in marks else marks[0]


def _ranking(given: Inputs, _: Fixtures, expected: Any) -> dict[str, float]:
    """The measures that `expected` names; NaN for a query without a required skill, which is never scored."""
    gold, names = frozenset(given["gold"]), list(expected)
    if not gold:
        return dict.fromkeys(names, math.nan)
    relevances = given.get("relevance") or dict.fromkeys(gold, 1)
    return {name: parse_measure(name).score(given["ranked"], gold, relevances) for name in names}


def _tier_mean(given: Inputs, _: Fixtures, __: Any) -> float:
    return pooled_mean([given["easy_hits"] / given["n"], given["hard_hits"] / given["n"]])


REPLAYS: Mapping[str, Callable[[Inputs, Fixtures, Any], Any]] = {
    "c_index": lambda given, _, __: c_index(given["scores"], given["performance"]),
    "spearman_rho": lambda given, _, __: spearman(given["x"], given["y"]).rho,
    "spearman_p_value": lambda given, _, __: spearman_p_value(given["rho"], given["n"]),
    "significance_mark": _mark,
    "topk_mean_fractional_ties": lambda given, _, __: (
        100 * top_k_mean(given["scores"], given["levels"], given["k"]) / given["unit"]
    ),
    "topk_mean_fractional_ties_raw": lambda given, _, __: top_k_mean(given["scores"], given["performance"], given["k"]),
    "normalized_rank_score": _rank_score_of_level,
    "normalized_rank_score_raw": lambda given, _, __: rank_score(given["values"], given["query"]),
    "performance_percent": lambda given, _, __: 100 * given["level_num"] / given["level_den"] / given["unit"],
    "mean": lambda given, _, __: pooled_mean(given["values"]),
    "mean_sd": lambda given, _, __: pooled_mean(given["values"]),
    "relative_reduction_pct": lambda given, _, __: relative_reduction(given["value"], given["reference"]),
    "top1_percentile_gain": lambda given, _, __: gain_over_strongest(given["method"], given["baselines"]),
    "single_multi_pooling": lambda given, _, __: pooled_mean(
        [given["single"], given["multi"]], [given["n_single"], given["n_multi"]]
    ),
    "subset_pooling": lambda given, _, __: pooled_mean(given["values"], given["counts"]),
    "tier_mean": _tier_mean,
    "skill_router_metrics": _ranking,
}
