"""bfloat16 where the processor multiplies it."""

from __future__ import annotations

import pytest

from skillfit.models import precision


@pytest.mark.parametrize(
    ("facts", "gains"),
    [
        ("processor : 0\nflags\t\t: fpu avx512f avx512_bf16 sse\n", True),
        ("processor : 0\nflags\t\t: fpu amx_bf16\nflags\t\t: fpu\n", True),
        ("processor : 0\nflags\t\t: fpu avx2 avx512f\n", False),
        ("flags: \n", False),
        ("Features : fp asimd bf16\n", False),
    ],
)
def test_a_cpu_gains_by_its_flags(tmp_path, monkeypatch, facts, gains):
    (tmp_path / "cpuinfo").write_text(facts)
    monkeypatch.setattr(precision, "CPU_FACTS", tmp_path / "cpuinfo")
    assert precision.bf16_gains("cpu") is gains


def test_without_linux_facts_nothing_is_promised(tmp_path, monkeypatch):
    monkeypatch.setattr(precision, "CPU_FACTS", tmp_path / "nothing")
    assert precision.bf16_gains("cpu") is False
    assert precision.bf16_gains("mps") is False


def test_a_gpu_is_asked(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for gains in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, gains=gains: gains)
        assert precision.bf16_gains("cuda:1") is gains
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert precision.bf16_gains("cuda") is False
