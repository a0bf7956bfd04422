"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Two test processes with two threads each on two cores stand in each other's way; one thread is much faster.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("skillfit", deadline=None)  # a busy machine is no bug
settings.load_profile("skillfit")


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny random BERT bi-encoder; nobody changes it."""
    from fakes import make_tiny_encoder

    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def skillfit_data() -> Path:
    """The folder of real data that SKILLFIT_DATA names; tests that need it are skipped where it is unset."""
    folder = os.environ.get("SKILLFIT_DATA")
    if not folder:
        pytest.skip("SKILLFIT_DATA is unset: it names the folder with the real skills and benchmarks")
    return Path(folder)
