"""Losses at cut embeddings."""

from __future__ import annotations

import pytest
import torch

from skillfit.losses import info_nce, matryoshka

QUERIES = torch.nn.functional.normalize(torch.tensor([[3.0, 4.0, 0.0], [0.0, 1.0, 1.0]]), dim=1)
DOCUMENTS = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0, 2.0], [1.0, 1.0, 1.0]]), dim=1)


def loss(queries: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
    return info_nce(queries @ documents.T, torch.arange(2), temperature=0.1)


def test_it_is_the_weighted_mean_over_cut_and_renormalised_embeddings() -> None:
    two = loss(*(torch.nn.functional.normalize(x[:, :2], dim=1) for x in (QUERIES, DOCUMENTS)))
    whole = loss(QUERIES, DOCUMENTS)
    assert matryoshka(loss, QUERIES, DOCUMENTS, [2, 3]).item() == pytest.approx(((two + whole) / 2).item())
    found = matryoshka(loss, QUERIES, DOCUMENTS, [2, 3], [3.0, 1.0])
    assert found.item() == pytest.approx(((3 * two + whole) / 4).item())
    assert matryoshka(loss, QUERIES, DOCUMENTS, [3]).item() == pytest.approx(whole.item())


@pytest.mark.parametrize(("dims", "weights"), [([0], None), ([4], None), ([], None), ([2], [1.0, 1.0]), ([2], [0.0])])
def test_sizes_and_weights_must_fit(dims: list[int], weights: list[float] | None) -> None:
    with pytest.raises(ValueError, match=r"matryoshka|sizes"):
        matryoshka(loss, QUERIES, DOCUMENTS, dims, weights)
