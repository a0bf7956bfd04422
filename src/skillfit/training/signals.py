"""Who answers SIGTERM while Lightning trains."""

from __future__ import annotations

import signal
import threading
from types import FrameType

import pytorch_lightning as pl

OBSERVER = "child-process-observer"  # Lightning's thread that kills this process when a further one ends


class KeepSigterm(pl.Callback):
    """Puts the handler of SIGTERM that stood before `fit` back in place, and ends the run's further processes with it.

    Lightning's own waits for all processes in a collective call, which one that is busy in another never joins, and
    lets the job end with exit code 0.
    """

    def __init__(self) -> None:
        self.before = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Take over, once Lightning has set its handlers."""
        if threading.current_thread() is not threading.main_thread():
            return
        before = self.before
        if not callable(before):
            signal.signal(signal.SIGTERM, before)
            return

        def end_all(signum: int, frame: FrameType | None) -> None:
            for thread in threading.enumerate():
                if thread.name == OBSERVER:
                    thread._finished = True  # type: ignore[attr-defined]
            if trainer.strategy.launcher is not None:
                trainer.strategy.launcher.kill(signal.SIGKILL)
            before(signum, frame)

        signal.signal(signal.SIGTERM, end_all)
