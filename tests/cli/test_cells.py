"""`skillfit cells FILE`: counts a metric, reasons of failures, the last line and the exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from skillfit.cli.main import main

CELLS = Path(__file__).parents[1] / "fixtures" / "golden_cells.json"


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["skillfit", "cells", *map(str, arguments)])
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code
    return code, *capsys.readouterr()


def test_all_published_cells(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, CELLS)
    assert code == 0
    assert out.endswith("293 passed, 0 failed\n")
    assert "c_index                        10 of 10\n" in out


def test_a_failure_is_told_and_ends_with_code_1(monkeypatch, capsys, tmp_path):
    cells = [{"id": "x/y", "metric": "mean", "inputs": {"values": [1, 2]}, "expected": 9, "tol": 0.1}]
    file = tmp_path / "cells.json"
    file.write_text(json.dumps({"cells": cells}))
    code, out, _ = run(monkeypatch, capsys, file)
    assert code == 1
    assert "failed: x/y: found 1.5, expected 9 within 0.1\n" in out
    assert out.endswith("0 passed, 1 failed\n")


@pytest.mark.parametrize(("arguments", "told"), [((), "give one file"), (("nowhere.json",), "no such file")])
def test_bad_commands(monkeypatch, capsys, arguments, told):
    code, out, err = run(monkeypatch, capsys, *arguments)
    assert code == 2
    assert told in err
    assert out == ""


def test_help(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "--help")
    assert code == 0
    assert out.startswith("usage: skillfit cells FILE")
