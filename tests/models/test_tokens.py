"""Token ids kept apart from padding give what `model.preprocess` gives."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import WORDS
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.tokens import features, length_batches, token_ids

RNG = np.random.default_rng(3)
TEXTS = [" ".join(RNG.choice(WORDS, n)) for n in RNG.integers(1, 90, 24)] + ["", " pdf\n", "x" * 400]


def same(mine: dict, theirs: dict) -> None:
    import torch

    assert set(mine) == set(theirs)
    for name, value in theirs.items():
        if isinstance(value, torch.Tensor):
            assert mine[name].dtype == value.dtype
            assert torch.equal(mine[name], value), name
        else:
            assert mine[name] == value


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A one-layer random Qwen3 whose tokenizer ends each text with a token of its own; last-token pooling."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    torch.manual_seed(0)
    base = tmp_path_factory.mktemp("decoder") / "base"
    vocab = {word: i for i, word in enumerate(dict.fromkeys(["<pad>", "<end>", "<unk>", *WORDS]))}
    words = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="$A <end>", special_tokens=[("<end>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<unk>", padding_side="left"
    )
    config = Qwen3Config(
        vocab_size=len(vocab), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=128,
    )  # fmt: skip
    Qwen3Model(config).save_pretrained(base)
    tokenizer.save_pretrained(base)
    transformer = Transformer(str(base), max_seq_length=32)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="lasttoken", include_prompt=False)
    folder = base.parent / "model"
    SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu").save_pretrained(
        str(folder), create_model_card=False
    )
    return folder


@pytest.mark.parametrize("prompt", ["", "find the skill: "])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["bert", "decoder"])
def test_features_of_kept_ids_equal_preprocess(tiny_encoder, decoder, kind, side, prompt):
    model = BiEncoder.load(str(tiny_encoder if kind == "bert" else decoder)).model
    model.tokenizer.padding_side = side
    rows = token_ids(model, TEXTS, prompt)
    assert {row.dtype for row in rows} == {np.dtype(np.int32)}
    assert max(len(row) for row in rows) == model.max_seq_length
    for chosen in (range(len(TEXTS)), [0], [5, 3, 24, 3]):
        theirs = model.preprocess([TEXTS[i] for i in chosen], prompt=prompt)
        same(features(model, [rows[i] for i in chosen], prompt), dict(theirs))
    assert ("prompt_length" in features(model, rows[:1], prompt)) == bool(prompt)
    assert ("token_type_ids" in features(model, rows[:1], prompt)) == (kind == "bert")


@pytest.mark.parametrize("side", ["left", "right"])
def test_pooling_without_the_prompt_sees_the_same_prompt_length(tiny_encoder, side):
    import torch

    model = BiEncoder.load(str(tiny_encoder)).model
    model[1].include_prompt, model.tokenizer.padding_side = False, side
    prompt = "find a skill for "
    mine = model(features(model, token_ids(model, TEXTS, prompt), prompt))["sentence_embedding"]
    theirs = model(model.preprocess(TEXTS, prompt=prompt))["sentence_embedding"]
    assert torch.equal(mine, theirs)
    model[1].include_prompt = True
    assert not torch.allclose(mine, model(model.preprocess(TEXTS, prompt=prompt))["sentence_embedding"])


def test_blocks_of_texts_change_nothing(tiny_encoder, monkeypatch):
    model = BiEncoder.load(str(tiny_encoder)).model
    whole = token_ids(model, TEXTS, "x ")
    monkeypatch.setattr("skillfit.models.tokens.TEXTS_AT_ONCE", 4)
    assert [row.tolist() for row in token_ids(model, TEXTS, "x ")] == [row.tolist() for row in whole]
    assert token_ids(model, [], "x ") == []


def test_a_model_without_a_transformer_is_refused_by_name():
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import BoW

    model = SentenceTransformer(modules=[BoW(["pdf", "table"])], device="cpu")
    with pytest.raises(UserError, match="BoW"):
        token_ids(model, ["pdf"], "")


@given(
    st.lists(st.integers(0, 50), max_size=40),
    st.integers(1, 120),
    st.none() | st.integers(1, 6),
)
def test_batches_hold_each_position_once_within_the_budget(lengths, tokens, most):
    batches = length_batches(lengths, tokens, most)
    flat = [i for batch in batches for i in batch]
    assert sorted(flat) == list(range(len(lengths)))
    assert flat == sorted(flat, key=lambda i: (-lengths[i], i))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= tokens
        assert most is None or len(batch) <= most
    for before, after in pairwise(batches):  # no batch is left emptier than it must be
        full = (len(before) + 1) * max(1, lengths[before[0]]) > tokens
        assert full or len(before) == most, (before, after)
