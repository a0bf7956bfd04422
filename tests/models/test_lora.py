"""Adapters: what they change, that a saved, a merged and a reloaded one give equal vectors, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file, save_file

from fakes import WORDS, make_tiny_decoder
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.models.lora import LoraOptions, adapter_of, attach, merge, save_adapter, set_checkpointing
from skillfit.models.source import EMBEDDED

RNG = np.random.default_rng(5)
TEXTS = [" ".join(RNG.choice(WORDS, n)) for n in RNG.integers(2, 40, 12)]
OPTIONS = LoraOptions(rank=4, alpha=8)


@pytest.fixture(scope="module")
def tiny_decoder(tmp_path_factory):
    return make_tiny_decoder(tmp_path_factory.mktemp("decoder") / "qwen3")


@pytest.fixture(params=["bert", "qwen3"])
def base(request, tiny_encoder, tiny_decoder) -> Path:
    return tiny_encoder if request.param == "bert" else tiny_decoder


def train(encoder: BiEncoder, steps: int = 5) -> None:
    """A few plain steps that pull the first half of the texts to the second."""
    weights = [p for p in encoder.model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(weights, lr=1.0)
    encoder.model.train()
    for step in range(steps):
        torch.manual_seed(step)
        vectors = encoder.model(encoder.model.preprocess(TEXTS))["sentence_embedding"]
        loss = -(vectors[:6] * vectors[6:]).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    encoder.model.eval()


def trained(base: Path, *, checkpointing: bool = False, **settings) -> BiEncoder:
    encoder = BiEncoder.load(str(base), **settings)
    torch.manual_seed(0)
    attach(encoder, OPTIONS)
    set_checkpointing(encoder, checkpointing)
    train(encoder)
    return encoder


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_a_new_adapter_changes_nothing_and_only_it_is_trained(base):
    encoder = BiEncoder.load(str(base))
    before = encoder.encode(TEXTS, "query")
    total = sum(p.numel() for p in encoder.model.parameters())
    trainable = attach(encoder, OPTIONS)
    assert np.array_equal(encoder.encode(TEXTS, "query"), before)
    assert 0 < trainable < total / 5
    frozen = {name: p.clone() for name, p in encoder.model.named_parameters() if "lora_" not in name}
    assert trainable == sum(p.numel() for n, p in encoder.model.named_parameters() if "lora_" in n)
    train(encoder)
    assert np.abs(encoder.encode(TEXTS, "query") - before).max() > 1e-3
    now = dict(encoder.model.named_parameters())
    assert all(torch.equal(now[name], tensor) for name, tensor in frozen.items())


def test_saved_merged_and_reloaded_adapters_give_equal_vectors(base, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = trained(base, query_prompt="find: ", max_length=48)
    expected = {kind: encoder.encode(TEXTS, kind) for kind in ("query", "document")}
    assert np.abs(expected["query"] - expected["document"]).max() > 1e-3

    save_adapter(encoder, tmp_path / "adapter", str(base), {"view": "nd"})
    again = BiEncoder.load(str(tmp_path / "adapter"))
    assert (again.prompts["query"], again.max_length, again.card["view"]) == ("find: ", 48, "nd")
    for kind, vectors in expected.items():
        assert np.abs(again.encode(TEXTS, kind) - vectors).max() < 1e-5

    merge(encoder)
    assert adapter_of(encoder) is None
    encoder.save(tmp_path / "merged", {})
    whole, theirs = (
        BiEncoder.load(str(tmp_path / "merged")),
        SentenceTransformer(str(tmp_path / "merged"), device="cpu"),
    )
    for kind, vectors in expected.items():
        assert np.abs(encoder.encode(TEXTS, kind) - vectors).max() < 1e-5
        assert np.abs(whole.encode(TEXTS, kind) - vectors).max() < 1e-5
        assert np.abs(theirs.encode(TEXTS, prompt_name=kind) - vectors).max() < 1e-5
    assert whole.fingerprint() == encoder.fingerprint()
    assert not any("lora" in name for name in whole.model.state_dict())


def test_up18_a_saved_adapter_is_as_large_as_what_was_trained(base, tmp_path):
    encoder = BiEncoder.load(str(base))
    trainable = attach(encoder, LoraOptions(rank=16))
    save_adapter(encoder, tmp_path / "adapter", str(base))
    assert (tmp_path / "adapter" / "adapter_model.safetensors").stat().st_size < 4 * trainable + 4_000
    assert size(tmp_path / "adapter") < 4 * trainable + 10_000


def test_an_adapter_names_its_base_without_an_absolute_path(tiny_encoder, tmp_path):
    shutil.copytree(tiny_encoder, tmp_path / "here" / "base")
    encoder = trained(tmp_path / "here" / "base")
    save_adapter(encoder, tmp_path / "here" / "runs" / "adapter", str(tmp_path / "here" / "base"))
    expected = encoder.encode(TEXTS, "query")
    (tmp_path / "here").rename(tmp_path / "there")
    moved = tmp_path / "there" / "runs" / "adapter"
    written = "".join(file.read_text() for file in moved.glob("*.json"))
    assert str(tmp_path) not in written
    assert json.loads((moved / "adapter_config.json").read_text())["base_model_name_or_path"] == "../../base"
    assert np.abs(BiEncoder.load(str(moved)).encode(TEXTS, "query") - expected).max() < 1e-5
    shutil.rmtree(tmp_path / "there" / "base")
    with pytest.raises(UserError, match=r"its base model \.\./\.\./base is not there"):
        BiEncoder.load(str(moved))


def test_an_adapter_of_the_embedded_model_is_known_everywhere(tmp_path):
    encoder = BiEncoder.load(EMBEDDED)
    untrained = encoder.encode(TEXTS, "query")
    attach(encoder, OPTIONS)
    for name, tensor in encoder.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(tensor, std=0.02)
    assert np.abs(encoder.encode(TEXTS, "query") - untrained).max() > 1e-3
    save_adapter(encoder, tmp_path / "adapter", EMBEDDED)
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == f"sentence-transformers/{EMBEDDED}"
    again = BiEncoder.load(str(tmp_path / "adapter"))
    assert np.abs(again.encode(TEXTS, "query") - encoder.encode(TEXTS, "query")).max() < 1e-5


def test_up17_foreign_and_damaged_adapters_are_refused(tiny_encoder, tmp_path):
    from fakes import make_tiny_encoder

    encoder = trained(tiny_encoder)
    other = make_tiny_encoder(tmp_path / "other", seed=9)
    wider = make_tiny_encoder(tmp_path / "wider", hidden=48)

    def saved(name: str, base: Path = tiny_encoder) -> Path:
        save_adapter(encoder, tmp_path / name, str(base))
        return tmp_path / name

    def refused(folder: Path, part: str) -> None:
        with pytest.raises(UserError, match=part) as told:
            BiEncoder.load(str(folder))
        assert "\n" not in str(told.value)
        assert str(folder) in str(told.value)

    refused(saved("foreign", other), "made for other weights")
    unsigned = saved("unsigned", wider)  # as peft itself writes it, without our facts
    (unsigned / "skillfit.json").unlink()
    refused(unsigned, "damaged or was made for another model")
    cut = saved("cut") / "adapter_model.safetensors"
    cut.write_bytes(cut.read_bytes()[:200])
    refused(cut.parent, "damaged")
    gone = saved("gone") / "adapter_model.safetensors"
    gone.unlink()
    refused(gone.parent, "no weights")
    fewer = saved("fewer") / "adapter_model.safetensors"
    tensors = load_file(fewer)
    save_file({name: tensor for name, tensor in tensors.items() if "layer.1" not in name}, fewer)
    refused(fewer.parent, "is missing")
    nan = saved("nan") / "adapter_model.safetensors"
    tensors = {name: tensor * float("nan") for name, tensor in tensors.items()}
    save_file(tensors, nan)
    refused(nan.parent, "not finite")
    kind = saved("kind") / "adapter_config.json"
    kind.write_text(json.dumps(json.loads(kind.read_text()) | {"peft_type": "IA3"}))
    refused(kind.parent, "IA3")


def test_up19_a_misspelt_target_is_refused_with_what_there_is(tiny_encoder):
    encoder = BiEncoder.load(str(tiny_encoder))
    with pytest.raises(UserError) as told:
        attach(encoder, LoraOptions(target_modules=["query", "valeu", "LayerNorm"]))
    message = str(told.value)
    assert "lora.target_modules = 'valeu, LayerNorm'" in message
    for name in ("dense", "key", "query", "value", "attention.output.dense"):
        assert name in message
    assert adapter_of(encoder) is None
    assert all(p.requires_grad for p in encoder.model.parameters())


def test_targets_are_what_was_asked_for(tiny_encoder, caplog):
    import logging

    caplog.set_level(logging.INFO, logger="skillfit")
    encoder = BiEncoder.load(str(tiny_encoder))
    trainable = attach(encoder, LoraOptions(rank=2, target_modules=["query", "attention.output.dense"]))
    adapted = {name.split(".lora_A")[0] for name, _ in encoder.model.named_parameters() if ".lora_A" in name}
    assert len(adapted) == 4  # two modules in two layers
    assert {name.rsplit(".", 1)[-1] for name in adapted} == {"query", "dense"}
    assert trainable == 4 * 2 * (32 + 32)
    assert f"{trainable} trainable weights" in caplog.text


def test_a_model_with_an_adapter_is_not_saved_as_a_whole(tiny_encoder, tmp_path):
    encoder = BiEncoder.load(str(tiny_encoder))
    attach(encoder, OPTIONS)
    with pytest.raises(ValueError, match="merge"):
        encoder.save(tmp_path / "model", {})
    with pytest.raises(ValueError, match="attached already"):
        attach(encoder, OPTIONS)


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"dropout": 1.0}, {"alpha": -1}, {"target_modules": []}, {"rnak": 4}])
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(ValidationError):
        LoraOptions(**wrong)


def test_up12_checkpointing_changes_no_adapter_weight(base):
    plain, saving = trained(base), trained(base, checkpointing=True)
    start = BiEncoder.load(str(base))
    torch.manual_seed(0)
    attach(start, OPTIONS)
    weights = [dict(encoder.model.named_parameters()) for encoder in (start, plain, saving)]
    for name in (name for name in weights[0] if "lora_B" in name):
        assert not torch.equal(weights[0][name], weights[1][name])
        assert torch.allclose(weights[1][name], weights[2][name], atol=1e-7)
    assert np.abs(plain.encode(TEXTS, "query") - saving.encode(TEXTS, "query")).max() < 1e-6
    saving.model.encode(TEXTS)  # in inference mode
    set_checkpointing(saving, False)
    assert np.abs(plain.encode(TEXTS, "query") - saving.encode(TEXTS, "query")).max() < 1e-6


@pytest.mark.parametrize("step", ["checkpointing", "save", "load"])
def test_the_libraries_beneath_say_nothing(tiny_encoder, tmp_path, recwarn, capfd, step):
    encoder = BiEncoder.load(str(tiny_encoder))
    attach(encoder, OPTIONS)
    set_checkpointing(encoder, True)
    set_checkpointing(encoder, False)
    if step != "checkpointing":
        save_adapter(encoder, tmp_path / "adapter", str(tiny_encoder))
    if step == "load":
        BiEncoder.load(str(tmp_path / "adapter"))
    assert [str(warning.message) for warning in recwarn] == []
    assert capfd.readouterr().err == ""


def test_checkpointing_recomputes_only_while_it_is_on(base):
    """Full fine-tuning: the same gradients, and layers that run twice a step."""
    passes, gradients = {}, {}
    for on in (True, False):
        encoder = BiEncoder.load(str(base))
        set_checkpointing(encoder, True)
        set_checkpointing(encoder, on)
        linear = next(m for m in encoder.model.modules() if isinstance(m, torch.nn.Linear))
        calls = []
        linear.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        encoder.model.train()
        torch.manual_seed(1)
        encoder.model(encoder.model.preprocess(TEXTS))["sentence_embedding"][:, 0].sum().backward()
        passes[on], gradients[on] = len(calls), linear.weight.grad
    assert passes == {True: 2, False: 1}
    assert torch.allclose(gradients[True], gradients[False], atol=1e-6)
