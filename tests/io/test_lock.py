"""The folder lock: one holder, given back by the kernel, not kept alive by forked workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from skillfit.io.lock import FolderLock, is_locked

HOLD = """
import os, sys, time
from pathlib import Path
from skillfit.io.lock import FolderLock
assert FolderLock(Path(sys.argv[1])).take()
started, tell = os.pipe()
if os.fork() == 0:
    os.write(tell, b"1")
    time.sleep(30)
os.read(started, 1)  # a worker that has not run yet still holds what it inherited
print("held", flush=True)
time.sleep(30)
"""


def test_one_holder_at_a_time(tmp_path):
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    assert not is_locked(tmp_path)
    assert first.take()
    assert is_locked(tmp_path)
    assert not second.take()
    first.release()
    assert not is_locked(tmp_path)
    assert second.take()
    second.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_sigkill_gives_the_lock_back_though_a_worker_lives_on(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert is_locked(tmp_path)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path)
    os.killpg(holder.pid, signal.SIGKILL)
