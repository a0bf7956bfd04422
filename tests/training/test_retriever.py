"""Fine-tuning a tiny retriever end to end: it learns, it is deterministic, it keeps the best and it stops in time."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from fake_training import VIEW, dev_values, fit
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.training.options import TrainerOptions
from skillfit.training.retriever import RetrieverFitter


def test_training_improves_dev_and_exports_the_best_epoch(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder)
    values = dev_values(run)
    assert len(values) == 5  # the untrained model and four epochs
    assert max(values[1:]) > values[0] + 0.05
    provenance = json.loads((run.path / "provenance.json").read_text())
    assert provenance["model"]["best_epoch"] == 1 + int(np.argmax(values[1:]))
    encoder = BiEncoder.load(str(run.path / "model"))
    assert encoder.card["view"] == VIEW.settings()
    assert encoder.fingerprint() == provenance["model"]["fingerprint"] != provenance["start"]["fingerprint"]
    assert json.loads((run.path / "run.json").read_text())["status"] == "finished"


def test_every_dev_number_carries_its_interval(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1)
    for row in json.loads((run.path / "metrics.json").read_text())["rows"]:
        assert row["low"] <= row["value"] <= row["high"]
        assert row["n"] == 20


def test_up10_same_seed_same_weights_for_any_worker_count(benchmark, tiny_encoder, tmp_path):
    def weights(name: str, **options: object) -> dict[str, torch.Tensor]:
        run = fit(tmp_path / name, benchmark, tiny_encoder, epochs=2, **options)
        return BiEncoder.load(str(run.path / "model")).model.state_dict()

    first, again, workers, other = weights("a"), weights("b"), weights("c", workers=2), weights("d", seed=1)
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name])
        assert torch.equal(tensor, workers[name])
    assert any(not torch.equal(tensor, other[name]) for name, tensor in first.items())


def test_up13_a_loss_that_is_not_finite_stops_the_run_and_leaves_the_last_checkpoint(
    benchmark, tiny_encoder, tmp_path, monkeypatch
):
    import skillfit.losses

    calls, loss = [], skillfit.losses.info_nce

    def breaking(*args, **kwargs):
        calls.append(1)
        return loss(*args, **kwargs) * (float("nan") if len(calls) == 5 else 1.0)

    monkeypatch.setattr(skillfit.losses, "info_nce", breaking)
    with pytest.raises(UserError, match=r"loss = nan.*step 4.*learning rate"):
        fit(tmp_path / "run", benchmark, tiny_encoder)  # three batches an epoch
    assert not (tmp_path / "run" / "model").exists()
    state = torch.load(tmp_path / "run" / "checkpoints" / "resume.ckpt", weights_only=True)
    assert state["global_step"] == 3
    assert all(torch.isfinite(tensor).all() for tensor in state["state_dict"].values())


def test_a_model_whose_vectors_are_not_finite_is_refused(benchmark, tiny_encoder, tmp_path):
    encoder = BiEncoder.load(str(tiny_encoder))
    with torch.no_grad():
        next(encoder.model.parameters()).fill_(float("inf"))
    encoder.save(tmp_path / "broken", {})
    with pytest.raises(UserError, match="not finite"):
        fit(tmp_path / "run", benchmark, tmp_path / "broken")


def test_up04_the_summary_tells_the_candidates_and_that_accumulation_adds_none(
    benchmark, tiny_encoder, tmp_path, caplog
):
    caplog.set_level(logging.INFO, logger="skillfit")
    fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1)
    assert "at most 16 candidates a query: 16 positives of the batch and 0 mined; " in caplog.text
    assert "gradients accumulated over 1 batches add none" in caplog.text
    assert "start weights" in caplog.text


def test_up20_checkpoints_load_in_the_safe_mode(benchmark, tiny_encoder, tmp_path):
    run = fit(tmp_path / "run", benchmark, tiny_encoder, epochs=1)
    names = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    assert names == ["best.ckpt", "resume.ckpt"]  # UP-21: flat names without metric names
    for name in names:
        assert "state_dict" in torch.load(run.path / "checkpoints" / name, weights_only=True)


def test_dropout_is_on_in_training_and_off_in_the_dev_evaluation(benchmark, tiny_encoder, tmp_path, monkeypatch):
    from sentence_transformers.sentence_transformer.modules import Transformer

    seen, forward = set(), Transformer.forward
    monkeypatch.setattr(
        Transformer,
        "forward",
        lambda self, *a, **k: (seen.add((torch.is_grad_enabled(), self.training)), forward(self, *a, **k))[1],
    )
    fit(tmp_path / "run", benchmark, tiny_encoder, epochs=2, dropout=None)
    assert seen == {(True, True), (False, False)}


@pytest.mark.parametrize(("key", "value"), [("train_split", "nope"), ("dev_split", "nope")])
def test_a_split_that_is_not_there_is_named(benchmark, tiny_encoder, tmp_path, key, value):
    with pytest.raises(UserError, match=r"nope.*dev, train"):
        fit(tmp_path / "run", benchmark, tiny_encoder, **{key: value})


def test_options_are_checked_by_name():
    with pytest.raises(ValueError, match="temperature"):
        RetrieverFitter(view=VIEW, temperature=0)
    with pytest.raises(UserError, match=r"limit_trian_batches.*limit_train_batches"):
        TrainerOptions(extra={"limit_trian_batches": 1}).trainer(folder=Path(), logger=False, callbacks=[])
