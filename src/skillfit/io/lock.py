"""A lock on a folder that ends with its process, however the process ends."""

from __future__ import annotations

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # no POSIX system: run folders are then claimed once all the same, only not resumed under a lock
    fcntl = None  # type: ignore[assignment]

LOCK = ".run.lock"
UNSUPPORTED = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class FolderLock:
    """An exclusive `flock` on a file in the folder: the kernel gives it back, also after SIGKILL.

    The file stays: removing it would let two processes hold locks on two files of one name.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / LOCK
        self._fd: int | None = None

    def take(self) -> bool:
        """Take the lock without waiting; False if a live process (or another lock of this one) holds it."""
        fd = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o666)
        if fcntl is not None:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return False
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    os.close(fd)
                    raise
        self._fd = fd
        _held.append(self)
        return True

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            _held.remove(self)


def is_locked(folder: Path) -> bool:
    """Whether a live process holds the folder's lock."""
    if fcntl is None or not (folder / LOCK).exists():
        return False
    probe = FolderLock(folder)
    if probe.take():
        probe.release()
        return False
    return True


def _close_inherited() -> None:
    """A forked worker must not keep its parent's lock alive: the parent may be killed and the worker linger."""
    while _held:
        _held[0].release()


_held: list[FolderLock] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
