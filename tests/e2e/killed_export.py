"""Run train.py's job and die by SIGKILL in the middle of writing the model folder: `python killed_export.py OVERRIDES`.

The process kills itself once the weights are on disk and before the folder is whole, so the moment is exact.
"""

from __future__ import annotations

import os
import runpy
import signal
from pathlib import Path

from skillfit.models import bi_encoder


def dies(file: Path, *_: object) -> None:
    assert any(file.parent.glob("*.safetensors")), "the weights are written before the card"
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    bi_encoder.write_json = dies  # type: ignore[assignment]
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "train.py"), run_name="__main__")
