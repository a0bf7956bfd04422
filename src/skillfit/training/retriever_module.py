"""The retriever's LightningModule: encode, score, loss, log. Everything else comes in from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from skillfit.data.collate import Features, RetrieverBatch
from skillfit.errors import UserError
from skillfit.losses.gradcache import cached_loss
from skillfit.training.objective import ContrastiveObjective, Outcome

Schedule = Callable[[int], float]


class RetrieverModule(pl.LightningModule):
    """Fine-tunes a bi-encoder: an nn.Module whose forward maps features to unit `sentence_embedding`s (B, H).

    cached: encode the batch twice, chunk by chunk, and keep no more than one chunk's activations (GradCache); the
    gradient is that of the plain step over the same chunks. Dropout is drawn from (seed, batch of the run, process), so
    it depends neither on what ran between steps nor on where a run was resumed.
    """

    def __init__(
        self,
        encoder: torch.nn.Module,
        objective: ContrastiveObjective,
        *,
        learning_rate: float,
        weight_decay: float,
        schedule: Schedule,
        seed: int,
        cached: bool = False,
    ) -> None:
        super().__init__()
        self.encoder, self.objective, self.seed, self.cached = encoder, objective, seed, cached
        self.learning_rate, self.weight_decay, self.schedule = learning_rate, weight_decay, schedule
        self.trained = [name for name, parameter in self.named_parameters() if parameter.requires_grad]
        # With an adapter, a checkpoint holds what is trained; the base comes from where it came from at the start.
        self.strict_loading = len(self.trained) == len(list(self.named_parameters()))

    def on_fit_start(self) -> None:
        """Switch dropout on: models come from disk in eval mode and Lightning leaves them so."""
        self.encoder.train()

    def on_train_batch_start(self, batch: RetrieverBatch, batch_idx: int) -> None:
        """Seed this step's dropout."""
        key = [self.seed, self.trainer.current_epoch, batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1))

    def training_step(self, batch: RetrieverBatch, batch_idx: int) -> Tensor:
        """The objective on the batch; stops the run at the first loss that is not finite."""
        chunks = [*batch.queries, *batch.documents]
        seen: list[Outcome] = []

        def objective(parts: Sequence[Tensor]) -> Tensor:
            n = len(batch.queries)
            queries = torch.cat(list(parts[:n])).float()[batch.query_order]  # (B, H)
            documents = torch.cat(list(parts[n:])).float()[batch.document_order]  # (P, H)
            # Scores stay float32 under autocast: 8 bits of mantissa would round cosines to steps of 0.004.
            with torch.autocast(queries.device.type, enabled=False):
                seen.append(self.objective(queries, documents, batch))
            return seen[-1].loss

        if self.cached:
            loss = cached_loss(
                chunks, self._embed, objective, [p for p in self.encoder.parameters() if p.requires_grad]
            )
        else:
            loss = objective([self._embed(chunk) for chunk in chunks])
        if not torch.isfinite(loss):
            fix = (
                f"not finite at step {self.global_step}; the last saved checkpoint is untouched. Likely causes: a "
                "learning rate that is too high, weights that were broken before, half precision without the range"
            )
            raise UserError("training", "loss", loss.item(), fix)
        self.log("train/loss", loss.detach(), batch_size=len(batch))
        self.log("train/candidates", seen[-1].candidates, batch_size=len(batch))
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Log the gradient's norm before clipping; in the first step, refuse a model in which nothing is trained."""
        gradients = [p.grad for p in self.encoder.parameters() if p.grad is not None]
        norm = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(g) for g in gradients] or [torch.zeros(())])
        )
        if self.global_step == 0 and norm == 0:
            fix = "is zero for every trainable weight in the first step: nothing would be trained"
            raise UserError("training", "gradient", fix=fix)
        if not torch.isfinite(norm) and self.trainer.precision != "16-mixed":  # whose scaler skips such steps
            fix = "not finite; the last saved checkpoint is untouched. A lower learning rate or float32 may help"
            raise UserError("training", f"gradient at step {self.global_step}", norm.item(), fix)
        self.log("train/gradient_norm", norm)
        self.log("train/learning_rate", optimizer.param_groups[0]["lr"])

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip by norm under autocast too, where Lightning refuses a fused optimiser; only a scaler forbids one."""
        if gradient_clip_val is not None and optimizer.defaults["fused"]:
            torch.nn.utils.clip_grad_norm_(
                [p for p in self.encoder.parameters() if p.grad is not None], gradient_clip_val
            )
        else:
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leave out the frozen base of an adapter."""
        if not self.strict_loading:
            kept = set(self.trained)
            checkpoint["state_dict"] = {name: t for name, t in checkpoint["state_dict"].items() if name in kept}

    def configure_optimizers(self) -> dict[str, Any]:
        """AdamW without decay on biases and norms, and the schedule by step."""
        decayed = [p for p in self.encoder.parameters() if p.requires_grad and p.ndim > 1]
        plain = [p for p in self.encoder.parameters() if p.requires_grad and p.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": self.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        groups = [group for group in groups if group["params"]]
        fused = self.trainer.precision != "16-mixed"  # whose scaler must unscale before gradients are clipped
        optimizer = torch.optim.AdamW(groups, lr=self.learning_rate, fused=fused)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, self.schedule)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def _embed(self, features: Features) -> Tensor:
        embedded: Tensor = self.encoder(dict(features))["sentence_embedding"]
        return embedded
