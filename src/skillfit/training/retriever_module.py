"""The retriever's LightningModule: encode, score, loss, log. Everything else comes in from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor

from skillfit.data.collate import Features, RetrieverBatch
from skillfit.errors import UserError

Loss = Callable[..., Tensor]
Schedule = Callable[[int], float]


class RetrieverModule(pl.LightningModule):
    """Fine-tunes a bi-encoder: an nn.Module whose forward maps features to unit `sentence_embedding`s (B, H)."""

    def __init__(
        self, encoder: torch.nn.Module, loss: Loss, *, learning_rate: float, weight_decay: float, schedule: Schedule
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.loss = loss
        self.learning_rate, self.weight_decay, self.schedule = learning_rate, weight_decay, schedule

    def on_fit_start(self) -> None:
        """Switch dropout on: models come from disk in eval mode and Lightning leaves them so."""
        self.encoder.train()

    def training_step(self, batch: RetrieverBatch, batch_idx: int) -> Tensor:
        """InfoNCE of the batch; stops the run at the first loss that is not finite."""
        queries, documents = self._embed(batch.queries), self._embed(batch.documents)  # (B, H), (M, H)
        loss = self.loss(queries @ documents.T, batch.positive, mask=batch.mask)
        if not torch.isfinite(loss):
            fix = (
                f"not finite at step {self.global_step}; the last saved checkpoint is untouched. Likely causes: a "
                "learning rate that is too high, weights that were broken before, half precision without the range"
            )
            raise UserError("training", "loss", loss.item(), fix)
        self.log("train/loss", loss.detach(), on_step=True, on_epoch=True, batch_size=len(queries))
        self.log("train/candidates", float(documents.shape[0]), batch_size=len(queries))
        return loss

    def configure_optimizers(self) -> dict[str, Any]:
        """AdamW without decay on biases and norms, and the schedule by step."""
        decayed = [p for p in self.encoder.parameters() if p.requires_grad and p.ndim > 1]
        plain = [p for p in self.encoder.parameters() if p.requires_grad and p.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=self.learning_rate, fused=True)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, self.schedule)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def _embed(self, features: Features) -> Tensor:
        embedded: Tensor = self.encoder(dict(features))["sentence_embedding"]
        return embedded
