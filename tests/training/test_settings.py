"""Settings that may change memory, speed or what is trained, and nothing else."""

from __future__ import annotations

import json
import logging

import pytest
import torch

from fake_training import dev_values, fit
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder


def weights(run) -> dict[str, torch.Tensor]:
    return BiEncoder.load(str(run.path / "model")).model.state_dict()


def gap(one, other) -> float:
    return max(float((one[name] - other[name]).abs().max()) for name in one if one[name].is_floating_point())


@pytest.mark.parametrize("chunk", [{"chunk": 1}, {"chunk_tokens": 60}, {"chunk": 5, "chunk_tokens": 10_000}])
def test_up06_gradcache_gives_the_weights_of_the_plain_step_dropout_included(benchmark, tiny_encoder, tmp_path, chunk):
    plain = fit(tmp_path / "plain", benchmark, tiny_encoder, epochs=1, dropout=0.1, **chunk)
    cached = fit(tmp_path / "cached", benchmark, tiny_encoder, epochs=1, dropout=0.1, cached=True, **chunk)
    assert gap(weights(plain), weights(cached)) < 1e-5


def test_chunks_change_no_loss(benchmark, tiny_encoder, tmp_path):
    whole = fit(tmp_path / "whole", benchmark, tiny_encoder, epochs=1, chunk_tokens=100_000)
    small = fit(tmp_path / "small", benchmark, tiny_encoder, epochs=1, chunk_tokens=50)
    assert gap(weights(whole), weights(small)) < 1e-4


def test_up12_lora_with_checkpointing_trains_as_without(benchmark, tiny_encoder, tmp_path):
    lora = {"rank": 4, "target_modules": ["query", "value"]}
    runs = [
        fit(tmp_path / name, benchmark, tiny_encoder, epochs=2, lora=lora, gradient_checkpointing=on)
        for name, on in (("plain", False), ("checkpointed", True))
    ]
    assert gap(weights(runs[0]), weights(runs[1])) < 1e-5
    start = BiEncoder.load(str(tiny_encoder)).model.state_dict()
    changed = {name for name, tensor in weights(runs[0]).items() if not torch.equal(tensor, start[name])}
    assert changed
    assert all("attention.self" in name for name in changed)


def test_up18_an_adapter_run_saves_adapters_not_bases(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1, lora={"rank": 2})
    state = torch.load(run.path / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert state
    assert all("lora_" in name for name in state)
    texts = ["pdf table extract", "rotate secret key"]
    merged = BiEncoder.load(str(run.path / "model")).encode(texts, "document")
    adapted = BiEncoder.load(str(run.path / "adapter")).encode(texts, "document")
    assert abs(merged - adapted).max() < 1e-5


def test_frozen_embeddings_stay(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1, freeze_embeddings=True)
    start, end = BiEncoder.load(str(tiny_encoder)).model.state_dict(), weights(run)
    name = next(name for name in start if "word_embeddings" in name)
    assert torch.equal(start[name], end[name])
    assert gap(start, end) > 0


@pytest.mark.parametrize("precision", ["bf16-mixed", "32-true"])
def test_precisions_train(benchmark, tiny_encoder, tmp_path, precision):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=2, trainer={"precision": precision})
    assert max(dev_values(run)[1:]) > dev_values(run)[0]


def test_patience_stops_a_run_that_does_not_improve(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=9, patience=2, learning_rate=1e-12)
    assert len(dev_values(run)) == 1 + 1 + 2  # the start, the best so far, two that were no better


def test_up05_a_chunk_above_the_batch_is_told_and_one_below_1_refused(benchmark, tiny_encoder, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="skillfit")
    fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1, chunk=1024, cached=True)
    assert caplog.text.count("component.chunk=1024 is no smaller than a batch: it has no effect") == 1
    assert "batch of 16 pairs a process, encoded twice" in caplog.text
    for value in (0, -1):
        with pytest.raises((UserError, ValueError), match="chunk"):
            fit(tmp_path / f"run{value}", benchmark, tiny_encoder, chunk=value)


def test_matryoshka_and_several_prompts_train_and_are_saved(benchmark, tiny_encoder, tmp_path):
    run = fit(
        tmp_path / "run", benchmark, tiny_encoder, epochs=1, matryoshka=[8, 32], query_prompt="find a ", pooling="cls"
    )
    card = json.loads((run.path / "model" / "skillfit.json").read_text())
    assert card["prompts"] == {"query": "find a ", "document": ""}
    assert card["pooling"] == "cls"
    with pytest.raises(UserError, match=r"matryoshka = 33: embeddings have 32 dimensions"):
        fit(tmp_path / "wide", benchmark, tiny_encoder, epochs=1, matryoshka=[8, 33])


def test_random_negatives_join_the_candidates(benchmark, tiny_encoder, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="skillfit")
    fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1, negatives={"random": 3})
    assert "16 positives of the batch and 48 mined" in caplog.text


def test_tokens_are_reused_by_the_next_run_with_the_same_texts(benchmark, tiny_encoder, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="skillfit")
    fit(tmp_path / "a", benchmark, tiny_encoder, epochs=1)
    assert "reused" not in caplog.text
    fit(tmp_path / "b", benchmark, tiny_encoder, epochs=1)
    assert caplog.text.count("same texts, tokenizer, window and prompt") == 2
    caplog.clear()
    fit(tmp_path / "c", benchmark, tiny_encoder, epochs=1, max_length=32)
    assert "reused" not in caplog.text


def test_dev_may_be_evaluated_after_some_epochs_alone(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=4, evaluate_every=2)
    rows = json.loads((run.path / "metrics.json").read_text())["rows"]
    assert list(dict.fromkeys(row["system"] for row in rows)) == ["epoch 0", "epoch 2", "epoch 4"]
    with pytest.raises(UserError, match=r"evaluate_every = 3: the last of 4 epochs"):
        fit(tmp_path / "odd", benchmark, tiny_encoder, epochs=4, evaluate_every=3)
    with pytest.raises(UserError, match=r"patience = 1: needs component\.evaluate_every=1"):
        fit(tmp_path / "patience", benchmark, tiny_encoder, epochs=4, evaluate_every=2, patience=1)
