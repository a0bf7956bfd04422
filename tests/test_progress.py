"""Progress without a terminal: plain lines at a limited rate, and none for quick work."""

from __future__ import annotations

import logging

from skillfit import progress


def test_up25_quick_work_leaves_no_line_in_a_log(caplog, capsys):
    caplog.set_level(logging.INFO)
    assert list(progress.track(range(1000), "counting")) == list(range(1000))
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")


def test_up25_long_work_writes_a_line_at_a_steady_rate(caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    clock = iter(range(0, 10_000, 10))  # each item takes ten seconds
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    list(progress.track(range(9), "counting", 9))
    assert [record.getMessage() for record in caplog.records] == [f"counting: {n} of 9" for n in (3, 6, 9)]
