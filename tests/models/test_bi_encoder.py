"""The bi-encoder against plain sentence-transformers, at any batch size, saved and reloaded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fakes import WORDS
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.source import EMBEDDED, embedded_folder, resolve_model

RNG = np.random.default_rng(1)
TEXTS = [" ".join(RNG.choice(WORDS, n)) for n in RNG.integers(1, 90, 100)]


def test_saved_folders_load_in_plain_sentence_transformers_with_prompts(tiny_encoder, tmp_path):
    from sentence_transformers import SentenceTransformer

    ours = BiEncoder.load(str(tiny_encoder), query_prompt="find: ", document_prompt="skill: ", max_length=48)
    ours.save(tmp_path / "model", {"kind": "retriever"})
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    for kind, encode in (("query", theirs.encode_query), ("document", theirs.encode_document)):
        for batch_size in (1, 64):
            mine = ours.encode(TEXTS, kind, batch_size=batch_size)
            assert np.abs(mine - encode(TEXTS, batch_size=64)).max() < 1e-5
            assert np.abs(mine - theirs.encode(TEXTS, prompt_name=kind, batch_size=1)).max() < 1e-5
    assert not np.allclose(ours.encode(TEXTS, "query"), ours.encode(TEXTS, "document"))


def test_the_embedded_model_equals_plain_sentence_transformers():
    from sentence_transformers import SentenceTransformer

    ours, theirs = BiEncoder.load(EMBEDDED), SentenceTransformer(str(embedded_folder()), device="cpu")
    texts = ["Extract tables from a PDF", "rotate the signing key " * 120, "x"]
    for batch_size in (1, 64):
        assert np.abs(ours.encode(texts, "document", batch_size=batch_size) - theirs.encode(texts)).max() < 1e-5
    assert ours.max_length == 256


def test_up11_vectors_do_not_depend_on_the_batch_size(tiny_encoder):
    encoder = BiEncoder.load(str(tiny_encoder))
    one = encoder.encode(TEXTS, "document", batch_size=1)
    for batch_size in (8, 64):
        cosines = (one * encoder.encode(TEXTS, "document", batch_size=batch_size)).sum(axis=1)
        assert cosines.min() > 0.99999


def test_a_model_without_normalisation_gets_it_and_keeps_it(tiny_encoder, tmp_path):
    modules = json.loads((tiny_encoder / "modules.json").read_text())
    import shutil

    bare = tmp_path / "bare"
    shutil.copytree(tiny_encoder, bare)
    (bare / "modules.json").write_text(json.dumps(modules[:2]))
    vectors = BiEncoder.load(str(bare)).encode(TEXTS[:5], "query")
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_count_cut_equals_tokenizing_everything(tiny_encoder):
    encoder = BiEncoder.load(str(tiny_encoder))
    odd = ["pdf " * n for n in (10, 61, 62, 63, 64, 500)] + ["x" * 5_000, " " * 5_000 + "pdf", "", "pdf" + " " * 2_000]
    lengths = [len(encoder.model.tokenizer(text)["input_ids"]) for text in odd]
    assert encoder.count_cut(odd, "query") == sum(length > encoder.max_length for length in lengths)
    assert 0 < encoder.count_cut(odd, "query") < len(odd)


def test_the_fingerprint_follows_weights_prompts_and_window(tiny_encoder):
    import torch

    plain = BiEncoder.load(str(tiny_encoder))
    same, prompted = BiEncoder.load(str(tiny_encoder)), BiEncoder.load(str(tiny_encoder), query_prompt="find: ")
    shorter, touched = BiEncoder.load(str(tiny_encoder), max_length=16), BiEncoder.load(str(tiny_encoder))
    with torch.no_grad():
        next(touched.model.parameters()).view(-1)[0] += 1e-3
    prints = [encoder.fingerprint() for encoder in (plain, prompted, shorter, touched)]
    assert len(set(prints)) == 4
    assert same.fingerprint() == plain.fingerprint()


def test_a_folder_with_files_is_never_overwritten(tiny_encoder, tmp_path):
    encoder, folder = BiEncoder.load(str(tiny_encoder)), tmp_path / "model"
    folder.mkdir()
    (folder / "precious.txt").write_text("keep me")
    with pytest.raises(UserError, match="not an empty folder"):
        encoder.save(folder, {})
    assert [p.name for p in folder.iterdir()] == ["precious.txt"]


def test_pickled_weights_are_refused(tiny_encoder, tmp_path):
    """A folder that only has pytorch_model.bin would be unpickled; it is refused instead."""
    import shutil

    import torch

    folder = tmp_path / "pickled"
    shutil.copytree(tiny_encoder, folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="cannot be loaded"):
        BiEncoder.load(str(folder))


def test_a_window_beyond_the_models_positions_is_refused(tiny_encoder):
    with pytest.raises(UserError, match="128 positions"):
        BiEncoder.load(str(tiny_encoder), max_length=4096)


def test_names_resolve_without_loading(tmp_path):
    assert resolve_model(EMBEDDED) == resolve_model(f"sentence-transformers/{EMBEDDED}") == str(embedded_folder())
    assert resolve_model("Qwen/Qwen3-Embedding-0.6B") == "Qwen/Qwen3-Embedding-0.6B"
    with pytest.raises(UserError, match="holds no model"):
        resolve_model(str(tmp_path))
