"""Who answers SIGTERM while Lightning trains."""

from __future__ import annotations

import signal
import threading

import pytorch_lightning as pl


class KeepSigterm(pl.Callback):
    """Puts the handler of SIGTERM that stood before `fit` back in place.

    Lightning's own waits for all processes of the run in a collective call, which a process that is busy in another
    one never joins, and lets the job end with exit code 0.
    """

    def __init__(self) -> None:
        self.handler = signal.getsignal(signal.SIGTERM)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Take over, once Lightning has set its handlers."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self.handler)
