"""UP-07: two processes with half the rows each learn as one process with all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gather_worker import OBJECTIVES, gradients
from skillfit.losses.gather import gather_ids, gather_rows, offset_of_rank, row_weight

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> list[dict[str, dict[str, torch.Tensor]]]:
    folder = tmp_path_factory.mktemp("gloo")
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    workers = [
        subprocess.Popen(
            [sys.executable, str(TESTS / "gather_worker.py"), str(rank), "2", str(folder)],
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for worker in workers:
        _, told = worker.communicate(timeout=300)
        assert worker.returncode == 0, told
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("share", ["even", "uneven"])
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("how", ["plain", "cached"])
def test_up07_loss_and_gradients_are_those_of_one_process(two_processes, share, name, how):
    alone = gradients(list(range(8)), name, cached=False, ddp=False)
    found = [rank[f"{share}/{name}/{how}"] for rank in two_processes]
    assert (found[0]["loss"] + found[1]["loss"]).item() / 2 == pytest.approx(alone["loss"].item(), rel=1e-5)
    for key, expected in alone.items():
        if key != "loss":
            assert torch.allclose(found[0][key], expected, atol=1e-6), key
            assert torch.equal(found[0][key], found[1][key])


def test_one_process_is_left_alone():
    x = torch.ones(2, 3, requires_grad=True)
    assert gather_rows(x) is x
    assert gather_ids(x) is x
    assert offset_of_rank(5) == 0
    assert row_weight(5) == 1.0
