"""Decoder encoders: which token speaks for the text, padding on either side, weights in a stated type."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fakes import WORDS, make_tiny_decoder
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder

RNG = np.random.default_rng(3)
TEXTS = [" ".join(RNG.choice(WORDS, n)) for n in (5, 60, 1, 17, 33)]


@pytest.fixture(scope="module")
def tiny_decoder(tmp_path_factory):
    return make_tiny_decoder(tmp_path_factory.mktemp("decoder") / "qwen3")


def last_states(folder, texts):
    """The last token's state by plain transformers, one text at a time: no padding at all."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder, dtype=torch.float32), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        inputs = [tokenizer(text, return_tensors="pt", truncation=True, max_length=64) for text in texts]
        states = torch.stack([model(**one).last_hidden_state[0, -1] for one in inputs])
    return torch.nn.functional.normalize(states, dim=-1).numpy()


@pytest.mark.parametrize("side", ["left", "right"])
def test_up14_batched_and_single_vectors_agree_on_either_padding_side(tiny_decoder, side):
    encoder = BiEncoder.load(str(tiny_decoder))
    encoder.model.tokenizer.padding_side = side
    expected = last_states(tiny_decoder, TEXTS)
    for batch_size in (1, 2, 64):
        assert np.abs(encoder.encode(TEXTS, "document", batch_size=batch_size) - expected).max() < 1e-5
    plain = encoder.model.encode(TEXTS, batch_size=len(TEXTS))
    assert np.abs(plain - expected).max() < 1e-5


def test_a_decoder_with_absolute_positions_gives_the_same_vectors_in_a_batch(tiny_decoder, tmp_path):
    from transformers import AutoTokenizer, GPT2Config, GPT2Model

    tokenizer = AutoTokenizer.from_pretrained(tiny_decoder)  # pads on the left
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=16, n_layer=1, n_head=2)
    GPT2Model(config).save_pretrained(tmp_path / "gpt2")
    tokenizer.save_pretrained(tmp_path / "gpt2")
    encoder = BiEncoder.load(str(tmp_path / "gpt2"))
    assert encoder.pooling == "last"
    together = encoder.model.encode(TEXTS, batch_size=len(TEXTS))
    assert np.abs(together - last_states(tmp_path / "gpt2", TEXTS)).max() < 1e-5


def test_pooling_follows_the_architecture_where_the_folder_does_not_say(tiny_decoder, tiny_encoder, tmp_path):
    import shutil

    shutil.copytree(tiny_encoder, tmp_path / "plain", ignore=shutil.ignore_patterns("modules.json", "*_Pooling"))
    bert, decoder = BiEncoder.load(str(tmp_path / "plain")), BiEncoder.load(str(tiny_decoder))
    assert (bert.pooling, decoder.pooling) == ("mean", "last")
    assert np.abs(bert.encode(TEXTS, "query") - BiEncoder.load(str(tiny_encoder)).encode(TEXTS, "query")).max() < 1e-6


def test_pooling_can_be_chosen_and_is_saved(tiny_encoder, tmp_path):
    vectors = {}
    for pooling in ("mean", "cls", "last"):
        encoder = BiEncoder.load(str(tiny_encoder), pooling=pooling)
        assert encoder.pooling == pooling
        vectors[pooling] = encoder.encode(TEXTS, "query")
        encoder.save(tmp_path / pooling, {})
        again = BiEncoder.load(str(tmp_path / pooling))
        assert again.fingerprint() == encoder.fingerprint()
        assert np.abs(again.encode(TEXTS, "query") - vectors[pooling]).max() < 1e-6
        assert json.loads((tmp_path / pooling / "skillfit.json").read_text())["pooling"] == pooling
    assert np.abs(vectors["mean"] - vectors["cls"]).max() > 1e-2
    assert np.abs(vectors["last"] - vectors["cls"]).max() > 1e-2
    # the last real token of a short text, not the padding after it
    alone = BiEncoder.load(str(tiny_encoder), pooling="last").encode(TEXTS[:1], "query", batch_size=1)
    assert np.abs(alone - vectors["last"][:1]).max() < 1e-5


def test_wrong_words_are_told(tiny_encoder):
    with pytest.raises(UserError, match=r"pooling = 'lasttoken'.*last"):
        BiEncoder.load(str(tiny_encoder), pooling="lasttoken")
    with pytest.raises(UserError, match=r"dtype = 'bf16'.*bfloat16"):
        BiEncoder.load(str(tiny_encoder), dtype="bf16")


def test_a_tokenizer_without_padding_gets_it_and_keeps_it(tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = make_tiny_decoder(tmp_path / "qwen3", pad=False)
    encoder = BiEncoder.load(str(folder))
    together = encoder.encode(TEXTS, "query", batch_size=64)
    assert np.abs(together - last_states(folder, TEXTS)).max() < 1e-5
    encoder.save(tmp_path / "saved", {})
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert theirs.tokenizer.pad_token == "<|endoftext|>"
    assert theirs[0].config.pad_token_id == theirs.tokenizer.pad_token_id
    assert np.abs(theirs.encode(TEXTS, batch_size=64) - together).max() < 1e-5


def test_weights_are_float32_unless_asked_otherwise(tmp_path):
    folder = make_tiny_decoder(tmp_path / "qwen3", dtype="bfloat16")
    full, half = BiEncoder.load(str(folder)), BiEncoder.load(str(folder), dtype="bfloat16")
    assert (full.dtype, half.dtype) == ("float32", "bfloat16")
    full.save(tmp_path / "saved", {})
    assert json.loads((tmp_path / "saved" / "skillfit.json").read_text())["dtype"] == "float32"
    assert BiEncoder.load(str(tmp_path / "saved")).fingerprint() == full.fingerprint() != half.fingerprint()
    cosines = (full.encode(TEXTS, "query") * half.encode(TEXTS, "query")).sum(axis=1)
    assert cosines.min() > 0.99


def test_encoding_leaves_no_trace_in_fingerprint_or_folder(tiny_decoder, tmp_path):
    encoder = BiEncoder.load(str(tiny_decoder))
    before = encoder.fingerprint()
    encoder.encode(TEXTS, "query")
    encoder.model.encode(TEXTS)
    assert encoder.fingerprint() == before
    encoder.save(tmp_path / "saved", {})
    assert BiEncoder.load(str(tmp_path / "saved")).fingerprint() == before
