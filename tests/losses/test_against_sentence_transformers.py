"""Each loss has the value and the gradient of its counterpart in sentence-transformers, on one tiny encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from skillfit.losses import cached_loss, info_nce, kl_distillation, margin_mse, matryoshka

QUERIES = ["pdf table", "rotate key", "chart plot"]
POSITIVES = ["extract pdf table", "rotate secret key", "plot chart"]
NEGATIVES = ["extract table rows", "secret rows", "chart of keys and secrets"]
TEMPERATURE = 0.05
TEACHER = torch.tensor([[3.0, 1.0], [2.5, 2.0], [0.5, -1.0]])  # of each query's positive and negative
ROWS = torch.arange(3)


@pytest.fixture(scope="module")
def pair(tiny_encoder):
    """Two equal models without dropout: one for their loss, one for ours."""
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(tiny_encoder), device="cpu").eval()
    return theirs, copy.deepcopy(theirs)


def compare(pair, their_loss: Callable, our_loss: Callable, *, labels: Tensor | None = None) -> None:
    """their_loss(model) -> module of features and labels; our_loss(model, encode) -> scalar."""
    theirs, ours = pair
    for model in pair:
        model.zero_grad()
    loss = their_loss(theirs)
    features = [theirs.preprocess(texts) for texts in (QUERIES, POSITIVES, NEGATIVES)]
    expected = loss(features, labels)
    expected.backward()

    def encode(texts: list[str]) -> Tensor:
        return ours(ours.preprocess(texts))["sentence_embedding"]

    found = our_loss(ours, encode)
    found.backward()
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    compared = 0
    for (name, wanted), got in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        if wanted.grad is not None:
            assert torch.allclose(got.grad, wanted.grad, rtol=1e-3, atol=1e-6), name
            compared += int(bool(wanted.grad.abs().max() > 1e-4))
    assert compared > 5


def contrastive(queries: Tensor, documents: Tensor) -> Tensor:
    return info_nce(queries @ documents.T, ROWS, temperature=TEMPERATURE)


def own_scores(rows: list[Tensor]) -> Tensor:
    queries, positives, negatives = rows
    return torch.stack([(queries * positives).sum(dim=1), (queries * negatives).sum(dim=1)], dim=1)


def test_info_nce_is_multiple_negatives_ranking(pair):
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    compare(
        pair,
        lambda model: MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE),
        lambda _, encode: contrastive(encode(QUERIES), encode(POSITIVES + NEGATIVES)),
    )


@pytest.mark.parametrize("size", [1, 2])
def test_the_cached_loss_is_cached_multiple_negatives_ranking(pair, size):
    from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss

    texts = QUERIES + POSITIVES + NEGATIVES
    chunks = [texts[at : at + size] for at in range(0, len(texts), size)]

    def ours(model, encode):
        def loss(parts: list[Tensor]) -> Tensor:
            rows = torch.cat(parts)
            return contrastive(rows[:3], rows[3:])

        return cached_loss(chunks, encode, loss, list(model.parameters()))

    compare(
        pair,
        lambda model: CachedMultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE, mini_batch_size=2),
        ours,
    )


def test_matryoshka_is_theirs_but_for_the_mean(pair):
    """Theirs adds the sizes' losses up, ours averages them: weights that sum to one make them equal."""
    from sentence_transformers.sentence_transformer.losses import MatryoshkaLoss, MultipleNegativesRankingLoss

    width = pair[0].get_embedding_dimension()
    sizes, weights = [width, width // 2], [0.75, 0.25]
    compare(
        pair,
        lambda model: MatryoshkaLoss(
            model, MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE), sizes, matryoshka_weights=weights
        ),
        lambda _, encode: matryoshka(contrastive, encode(QUERIES), encode(POSITIVES + NEGATIVES), sizes, weights),
    )


def test_margin_mse_is_theirs(pair):
    from sentence_transformers.sentence_transformer.losses import MarginMSELoss

    compare(
        pair,
        MarginMSELoss,
        lambda _, encode: margin_mse(
            own_scores([encode(QUERIES), encode(POSITIVES), encode(NEGATIVES)]), torch.zeros(3, dtype=int), TEACHER
        ),
        labels=TEACHER,
    )


def test_kl_distillation_is_theirs_but_for_the_squared_temperature(pair):
    from sentence_transformers.sentence_transformer.losses import DistillKLDivLoss

    compare(
        pair,
        lambda model: DistillKLDivLoss(model, temperature=2.0),
        lambda _, encode: (
            4
            * kl_distillation(
                own_scores([encode(QUERIES), encode(POSITIVES), encode(NEGATIVES)]), TEACHER, temperature=2.0
            )
        ),
        labels=TEACHER,
    )
