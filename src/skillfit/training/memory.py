"""Memory of the C library between steps: given back and asked for again, it costs CPU training a third of its speed."""

from __future__ import annotations

import ctypes
import platform

# Parameters of mallopt(3), from malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed blocks for the next step instead of returning them; True where that was possible.

    The same as `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_MAX_=0` in the environment before the start.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, _NEVER))
