"""Losses as pure functions of tensors: they know no model, no data set and no config."""

from skillfit.losses.distillation import kl_distillation, margin_mse
from skillfit.losses.gradcache import cached_loss
from skillfit.losses.infonce import info_nce, multi_positive_info_nce
from skillfit.losses.matryoshka import matryoshka
from skillfit.losses.scores import false_negative_mask, first_columns, passage_scores

__all__ = [
    "cached_loss", "false_negative_mask", "first_columns", "info_nce", "kl_distillation", "margin_mse", "matryoshka",
    "multi_positive_info_nce", "passage_scores",
]  # fmt: skip
