"""SIGTERM and Ctrl-C end a job with one line and their own exit codes, whatever library holds the main thread."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

TERMINATED, INTERRUPTED = 128 + signal.SIGTERM, 128 + signal.SIGINT
abandoned: list[str] = []  # trackers that did not close in time: the process ends without waiting for them
PATIENCE = 90.0  # seconds that cleaning up may take after SIGTERM
DIE_WITH_PARENT = 1  # Linux: PR_SET_PDEATHSIG


class Terminated(SystemExit):
    """SIGTERM has come: a SystemExit, so that libraries clean up and nothing mistakes it for a fault."""

    def __init__(self) -> None:
        super().__init__(TERMINATED)


class Told(SystemExit):
    """The end of a job whose user has been told why."""


@contextmanager
def terminable() -> Iterator[None]:
    """Within the block SIGTERM raises Terminated in the main thread; a clean-up that hangs is cut off."""
    before = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or isinstance(before, _Handler):
        yield
        return
    handler = _Handler()
    signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        handler.done()
        signal.signal(signal.SIGTERM, before)


class _Handler:
    """Raises Terminated once; the signals that follow would only disturb the clean-up."""

    def __init__(self) -> None:
        self.watchdog: threading.Timer | None = None

    def __call__(self, _signum: int, _frame: FrameType | None) -> None:
        if self.watchdog is None:
            self.watchdog = threading.Timer(PATIENCE, os._exit, [TERMINATED])
            self.watchdog.daemon = True
            self.watchdog.start()
            raise Terminated

    def done(self) -> None:
        if self.watchdog is not None:
            self.watchdog.cancel()


def stopped_by(error: BaseException) -> int | None:
    """The exit code of a stop by signal, None for any other end.

    Lightning turns SIGINT into SystemExit(1) with the KeyboardInterrupt behind it, and SIGTERM into an exit with
    code 0 where it sees the signal first.
    """
    if isinstance(error, Terminated) or type(error).__name__ == "SIGTERMException":
        return TERMINATED
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    behind = error.__cause__ or error.__context__
    return stopped_by(behind) if isinstance(error, SystemExit) and behind is not None else None


def reason(error: BaseException) -> str:
    """Why a run ended, for `run.json`; never empty."""
    known = {TERMINATED: "terminated (SIGTERM)", INTERRUPTED: "interrupted (SIGINT)"}
    code = stopped_by(error)
    if code is not None:
        return known[code]
    return ": ".join(part for part in (type(error).__name__, " ".join(str(error).split())) if part)


def is_secondary() -> bool:
    """Whether this is a further process (rank > 0) of a run that another process leads."""
    for names in (("RANK",), ("NODE_RANK", "GROUP_RANK", "LOCAL_RANK")):
        ranks = [os.environ[name] for name in names if name in os.environ]
        if ranks:
            return any(rank not in ("", "0") for rank in ranks)
    return os.environ.get("SLURM_NTASKS", "1") != "1" and os.environ.get("SLURM_PROCID", "0") != "0"


def follow_the_first() -> None:
    """Leave signals to the process that leads the run, and die with the process that started this one."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


def leave(code: int) -> None:
    """End the process at once if a tracker was left behind: its exit hooks would wait for the network."""
    if abandoned:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
