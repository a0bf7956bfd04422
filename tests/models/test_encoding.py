"""Encoding: any order, batch size and precision, and the model left as it was."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import WORDS
from skillfit.models import encoding
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.encoding import encode

RNG = np.random.default_rng(4)
TEXTS = [" ".join(RNG.choice(WORDS, n)) for n in RNG.integers(1, 90, 40)]


def test_equal_texts_get_one_vector_whatever_stands_beside_them(tiny_encoder):
    model = BiEncoder.load(str(tiny_encoder)).model
    texts = [*TEXTS, *TEXTS[:9]]
    vectors = encode(model, texts, "")
    np.testing.assert_array_equal(vectors[len(TEXTS) :], vectors[:9])
    order = RNG.permutation(len(texts))
    np.testing.assert_array_equal(encode(model, [texts[i] for i in order], ""), vectors[order])


def test_each_distinct_text_is_tokenised_and_encoded_once(tiny_encoder, monkeypatch):
    model, seen = BiEncoder.load(str(tiny_encoder)).model, []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda batch: seen.append(len(batch["input_ids"])) or forward(batch))
    tokenised = []
    preprocess = model.preprocess
    monkeypatch.setattr(
        model, "preprocess", lambda texts, **options: tokenised.extend(texts) or preprocess(texts, **options)
    )
    encode(model, TEXTS * 5, "", batch_size=2)
    assert sum(seen) == len(TEXTS)
    assert sorted(text for text in tokenised if text) == sorted(TEXTS)


def test_a_batch_keeps_to_its_token_budget(tiny_encoder, monkeypatch):
    model, shapes = BiEncoder.load(str(tiny_encoder)).model, []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda batch: shapes.append(batch["input_ids"].shape) or forward(batch))
    encode(model, TEXTS, "", batch_size=3)
    assert max(rows * length for rows, length in shapes) <= 3 * encoding.TOKENS_A_ROW
    assert max(rows for rows, _ in shapes) > 3  # short texts share a larger batch


@pytest.mark.parametrize("prompt", ["", "find: "])
def test_float32_equals_plain_sentence_transformers(tiny_encoder, prompt):
    model = BiEncoder.load(str(tiny_encoder)).model
    theirs = model.encode(TEXTS, prompt=prompt, batch_size=7)
    for batch_size in (1, 8, 64):
        mine = encode(model, TEXTS, prompt, batch_size)
        assert mine.dtype == np.float32
        assert np.abs(mine - theirs).max() < 1e-5
        assert (mine * encode(model, TEXTS, prompt, 5)).sum(axis=1).min() > 1 - 1e-5


def test_bfloat16_is_close_to_float32_and_changes_nothing_of_the_model(tiny_encoder):
    import torch

    model = BiEncoder.load(str(tiny_encoder)).model
    model.train()
    model[0].eval()  # a frozen part keeps its own mode
    before = {name: value.clone() for name, value in model.state_dict().items()}
    places = [parameter.data_ptr() for parameter in model.parameters()]
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    exact, fast = encode(model, TEXTS, ""), encode(model, TEXTS, "", dtype="bfloat16")
    assert fast.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(fast, axis=1), 1, atol=1e-6)
    assert 0.999 < (exact * fast).sum(axis=1).min() < 1 - 1e-7
    assert [parameter.data_ptr() for parameter in model.parameters()] == places
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert (model.training, model[0].training) == (True, False)
    assert {p.dtype for group in optimiser.param_groups for p in group["params"]} == {torch.float32}


def test_the_weights_come_back_after_a_failure(tiny_encoder, monkeypatch):
    import torch

    model = BiEncoder.load(str(tiny_encoder)).model

    def fails(batch):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model, "forward", fails)
    with pytest.raises(RuntimeError):
        encode(model, TEXTS, "", dtype="bfloat16")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_no_texts_give_no_vectors(tiny_encoder):
    assert encode(BiEncoder.load(str(tiny_encoder)).model, [], "x").shape == (0, 32)


def test_a_model_that_truncates_gives_shorter_unit_vectors(tiny_encoder):
    model = BiEncoder.load(str(tiny_encoder)).model
    whole = encode(model, TEXTS, "")
    model.truncate_dim = 8
    short = encode(model, TEXTS, "")
    np.testing.assert_allclose(short, whole[:, :8] / np.linalg.norm(whole[:, :8], axis=1, keepdims=True), atol=1e-6)
