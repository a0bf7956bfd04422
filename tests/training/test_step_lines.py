"""UP-25: a bar on a terminal, rare lines in a log."""

from __future__ import annotations

import logging
import re
import sys

from fake_training import fit
from skillfit.training.callbacks import StepLines


def test_a_log_gets_lines_at_a_limited_rate(benchmark, tiny_encoder, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="skillfit")
    monkeypatch.setattr(StepLines.__init__, "__defaults__", (0.0,))
    fit(tmp_path / "often", benchmark, tiny_encoder, epochs=1)
    lines = [line for line in caplog.messages if line.startswith("step ")]
    assert len(lines) == 3
    assert all(re.fullmatch(r"step \d of 3: loss \d\.\d{3}, [\d.]+ pairs/s, about \d+ s left", line) for line in lines)
    caplog.clear()
    monkeypatch.setattr(StepLines.__init__, "__defaults__", (3600.0,))
    fit(tmp_path / "seldom", benchmark, tiny_encoder, epochs=1)
    assert not [line for line in caplog.messages if line.startswith("step ")]


def test_a_terminal_gets_a_bar_that_goes_away(benchmark, tiny_encoder, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="skillfit")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bars = []
    start = StepLines.on_train_start
    monkeypatch.setattr(StepLines, "on_train_start", lambda self, *a: (start(self, *a), bars.append(self.bar))[0])
    monkeypatch.setattr(StepLines.__init__, "__defaults__", (0.0,))
    fit(tmp_path / "run", benchmark, tiny_encoder, epochs=2)
    (bar,) = bars
    assert bar.finished
    assert not bar.live.is_started
    assert not [line for line in caplog.messages if line.startswith("step ")]
