"""Losses as pure functions of score tensors: they know no model, no data set and no config."""

from skillfit.losses.infonce import info_nce

__all__ = ["info_nce"]
