"""The toy job as its own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from toys import Toy


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    (tmp_path / "cwd").mkdir()
    return Toy(tmp_path / "cwd")
