"""A folder that lacks something is refused in one line: loaders would fill it with random values."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.source import resolve_model


@pytest.fixture
def folder(tiny_encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_encoder, tmp_path / "copy"))


def keep(folder: Path, wanted) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file({k: t for k, t in tensors.items() if wanted(k)}, folder / "model.safetensors", metadata={"format": "pt"})


def refused(folder: Path, *parts: str) -> None:
    with pytest.raises(UserError) as told:
        BiEncoder.load(str(folder))
    message = str(told.value)
    assert "\n" not in message
    for part in (str(folder), *parts):
        assert part in message


def test_missing_tensors_are_named(folder, capfd):
    keep(folder, lambda name: "layer.1.attention.self" not in name)
    refused(folder, "6 tensors of BertModel are missing", "encoder.layer.1.attention.self.key.bias", "…")
    assert capfd.readouterr().err == ""


def test_no_weight_at_all_is_refused(folder):
    keep(folder, lambda name: name.startswith("pooler"))
    refused(folder, "tensors of BertModel are missing")


def test_a_missing_pooler_and_tensors_too_many_are_no_fault(tiny_encoder, folder):
    keep(folder, lambda name: not name.startswith("pooler"))
    tensors = load_file(folder / "model.safetensors")
    tensors["cls.predictions.bias"] = tensors["embeddings.LayerNorm.bias"].clone()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    found, whole = BiEncoder.load(str(folder)), BiEncoder.load(str(tiny_encoder))
    texts = ["extract a table from the pdf", "rotate the key"]
    assert (found.encode(texts, "query") == whole.encode(texts, "query")).all()
    assert found.fingerprint() == BiEncoder.load(str(folder)).fingerprint()


def test_weights_under_the_name_of_a_larger_model_are_found(folder, tiny_encoder):
    """A checkpoint of BertForMaskedLM calls everything `bert.…`."""
    tensors = {f"bert.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert BiEncoder.load(str(folder)).fingerprint() == BiEncoder.load(str(tiny_encoder)).fingerprint()


def test_a_folder_without_tokenizer_is_refused_before_anything_loads(folder):
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)
    refused(folder, "it has no tokenizer")
    with pytest.raises(UserError, match="it has no tokenizer"):
        resolve_model(str(folder))


def test_a_folder_without_weights_is_refused(folder):
    (folder / "model.safetensors").unlink()
    refused(folder, "it has no weights")


def test_a_cut_weight_file_is_refused(folder):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    refused(folder, "cannot be loaded")


def test_tensors_of_another_shape_are_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 48}))
    refused(folder, "cannot be loaded")


def test_weights_that_are_not_finite_are_refused(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["encoder.layer.0.output.dense.weight"][0, 0] = float("nan")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    refused(folder, "1 tensors are not finite", "encoder.layer.0.output.dense.weight")


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"type": "x"}]'])
def test_an_odd_list_of_modules_is_refused(folder, text):
    (folder / "modules.json").write_text(text)
    refused(folder, "modules.json is no list of modules")
