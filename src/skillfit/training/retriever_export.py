"""What a retriever's run knows at its start and leaves at its end: facts, the model folder, the dev values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import PairSet
from skillfit.data.views import CutLedger
from skillfit.io.jsonl import write_json
from skillfit.provenance import RunFolder
from skillfit.training.retriever_data import TrainingTexts

if TYPE_CHECKING:
    from skillfit.models.bi_encoder import BiEncoder
    from skillfit.training.callbacks import EpochRow
    from skillfit.training.retriever import RetrieverFitter


def start_facts(
    fitter: RetrieverFitter,
    benchmark: Benchmark,
    pairs: PairSet,
    texts: TrainingTexts,
    encoder: BiEncoder,
    ledger: CutLedger,
) -> dict[str, Any]:
    """Facts for the provenance: data and its hash, what caps and window cut, the start weights."""
    passages = [text for row in texts.documents.values() for text in row]
    queries = list(texts.queries.values())
    return {
        "data": dict(benchmark.facts),
        "train": {
            "queries": len({pair.query_id for pair in pairs.pairs}),
            "pairs": len(pairs.pairs),
            "counts": dict(pairs.counts),
            "leakage": dict(pairs.leakage),
            "hash": texts.hash(pairs.pairs),
        },
        "view": fitter.view.settings(),
        "cut_by_caps": ledger.shares(),
        "cut_by_window": {
            "documents": encoder.count_cut(passages, "document") / len(passages),
            "queries": encoder.count_cut(queries, "query") / len(queries),
        },
        "texts": {"documents": len(texts.documents), "passages": len(passages)},
        "start": {"model": fitter.model, "fingerprint": encoder.fingerprint()},
    }


def export(
    fitter: RetrieverFitter, encoder: BiEncoder, best: EpochRow, history: list[EpochRow], run: RunFolder
) -> None:
    """Write `model/` (and `adapter/` for LoRA) and `metrics.json`."""
    from skillfit.models import lora as adapters

    encoder.model.eval()
    if fitter.gradient_checkpointing:
        adapters.set_checkpointing(encoder, False)
    card = {
        "kind": "retriever",
        "base_model": Path(fitter.model).name,
        "base_fingerprint": run.facts["start"]["fingerprint"],
        "view": fitter.view.settings(),
        "temperature": fitter.temperature,
        "training_data": run.facts["train"],
        "corpus_hash": run.facts["data"]["corpus_hash"],
        "dev": dict(best),
    }
    if fitter.lora is not None:
        adapters.save_adapter(encoder, run.path / "adapter", fitter.model, card)
        adapters.merge(encoder)
    encoder.save(run.path / "model", card)
    run.facts["model"] = {"fingerprint": encoder.fingerprint(), "best_epoch": best["epoch"]}
    rows = metric_rows(history, run.facts["data"]["name"], fitter.dev_split)
    write_json(run.path / "metrics.json", {"rows": rows, "provenance": run.provenance()})


def metric_rows(history: list[EpochRow], benchmark: str, split: str) -> list[dict[str, Any]]:
    """The dev values of each epoch in the form of every `metrics.json`."""
    shared = {"suite": "training", "benchmark": benchmark, "group": split}
    return [
        {
            **shared,
            "system": f"epoch {row['epoch']}",
            "metric": name,
            "value": value,
            "low": row["bounds"][name][0],
            "high": row["bounds"][name][1],
            "n": row["n"],
        }
        for row in history
        for name, value in row["values"].items()
    ]
