"""Progress of long work: a bar on a terminal, plain log lines at a limited rate elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
SECONDS_BETWEEN_LINES = 30.0


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield the items while showing how far they are, on stderr; a quick loop shows nothing in a log."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track as rich_track

        yield from rich_track(items, description, total=total, console=Console(stderr=True), transient=True)
        return
    last = time.monotonic()
    for count, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            log.info("%s: %d%s", description, count, f" of {total}" if total is not None else "")
