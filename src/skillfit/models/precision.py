"""Which devices compute faster in bfloat16 than in float32."""

from __future__ import annotations

from pathlib import Path

CPU_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
CPU_FACTS = Path("/proc/cpuinfo")


def bf16_gains(device: str) -> bool:
    """Whether bfloat16 pays on `device` (cpu, cuda, cuda:1, …): the hardware multiplies it, nothing emulates it.

    On CPU that is AVX-512 BF16 or AMX, read from Linux' own list of flags; elsewhere nobody tells, so the answer is no.
    """
    kind = device.split(":", 1)[0]
    if kind in ("cuda", "gpu"):
        import torch

        return bool(torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False))
    return kind == "cpu" and not CPU_FLAGS.isdisjoint(_cpu_flags())


def _cpu_flags() -> frozenset[str]:
    try:
        lines = CPU_FACTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return next((frozenset(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), frozenset())
