"""The synthetic SkillRouter cells, through the functions and through score_run in both profiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillfit.metrics import parse_measures, score_run
from skillfit.types import Qrels, Query, Run

CELLS = json.loads(Path(__file__).parents[1].joinpath("fixtures", "skillrouter_cells.json").read_text())["cells"]


def test_all_eight_cells_are_here():
    assert len(CELLS) == 8
    assert all(len(cell["expected"]) == 6 for cell in CELLS)


@pytest.mark.parametrize("cell", CELLS, ids=[cell["id"] for cell in CELLS])
def test_cell_by_the_functions(cell):
    given = cell["inputs"]
    for measure in parse_measures(cell["expected"]):
        value = measure.score(given["ranked"], frozenset(given["gold"]), given["relevance"])
        assert value == pytest.approx(cell["expected"][measure.name], abs=cell["tol"]), measure.name


@pytest.mark.parametrize("profile", ["default", "sr"])
def test_cells_as_one_run(profile):
    queries = [Query(cell["id"], "") for cell in CELLS]
    run = Run.from_order({cell["id"]: cell["inputs"]["ranked"] for cell in CELLS})
    qrels = Qrels(
        {cell["id"]: frozenset(cell["inputs"]["gold"]) for cell in CELLS},
        {cell["id"]: cell["inputs"]["relevance"] for cell in CELLS},
    )
    pool = qrels.skill_ids() | {skill for ranking in run.values() for skill in ranking.skill_ids}
    measures = parse_measures(CELLS[0]["expected"])
    scores = score_run(run, queries, qrels, measures, profile=profile, pool_ids=pool)
    for i, cell in enumerate(CELLS):
        for name, expected in cell["expected"].items():
            assert scores.values[name][i] == pytest.approx(expected, abs=cell["tol"]), (cell["id"], name)
