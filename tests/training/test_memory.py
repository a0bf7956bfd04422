"""Keeping freed memory, where the C library is glibc."""

from __future__ import annotations

import platform
import subprocess
import sys


def test_glibc_takes_the_setting_and_other_libraries_are_left_alone(monkeypatch) -> None:
    code = "from skillfit.training.memory import keep_freed_memory; print(keep_freed_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(platform.libc_ver()[0] == "glibc")
    from skillfit.training import memory

    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("musl", "1.2"))
    assert not memory.keep_freed_memory()
