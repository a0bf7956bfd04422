"""The retriever's fitter: from a benchmark with train and dev queries to a model folder."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import Pair, pairs_from
from skillfit.data.views import CutLedger, TextView
from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.io.jsonl import write_json
from skillfit.metrics.measures import parse_measures
from skillfit.models.source import EMBEDDED, resolve_model
from skillfit.provenance import RunFolder
from skillfit.training.options import TrainerOptions

if TYPE_CHECKING:
    from skillfit.models.bi_encoder import BiEncoder
    from skillfit.training.callbacks import DevEvaluation, EpochRow
    from skillfit.training.retriever_module import RetrieverModule

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class RetrieverFitter:
    """Fine-tunes a bi-encoder with InfoNCE over in-batch negatives (temperature 0.05 as in SkillRouter, section 4).

    A skill is never the negative of a query that requires it or a copy of it. dropout None keeps the model's own; 0
    switches it off. After each epoch the dev queries rank the whole pool; the best epoch by `monitor` is exported.
    """

    view: TextView
    model: str = EMBEDDED
    max_length: int | None = Field(default=None, ge=8)
    query_prompt: str | None = None
    document_prompt: str | None = None
    temperature: float = Field(default=0.05, gt=0)
    learning_rate: float = Field(default=2e-5, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup_share: float = Field(default=0.1, ge=0, le=1)
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    dropout: float | None = Field(default=None, ge=0, lt=1)
    batch_size: int = Field(default=32, ge=2)
    eval_batch_size: int = Field(default=32, ge=1)
    workers: int = Field(default=0, ge=0)
    train_split: str = "train"
    dev_split: str = "dev"
    monitor: str = "nDCG@10"
    measures: list[str] = Field(default_factory=lambda: ["Hit@1", "MRR@10", "nDCG@10", "Recall@10"])

    def __post_init__(self) -> None:
        resolve_model(self.model)
        parse_measures(self._measured(), place="component")

    def fit(self, benchmark: Benchmark, options: TrainerOptions, logger: Any, run: RunFolder) -> float:
        """Train, write the best epoch to `model/` and the dev values to `metrics.json`; returns the best `monitor`."""
        train, dev = benchmark.split(self.train_split), benchmark.split(self.dev_split)
        pairs = pairs_from(train.queries, train.qrels, benchmark.corpus.copies())
        from skillfit.data.datamodule import PairDataModule
        from skillfit.training.fit import best_epoch, fit_module

        encoder, ledger = self._encoder(), CutLedger()
        skill_texts = {skill.skill_id: self.view.skill_text(skill, ledger) for skill in benchmark.corpus}
        query_texts = {q.query_id: self.view.query_text(q.text, ledger) for q in (*train.queries, *dev.queries)}
        run.facts |= {
            "data": dict(benchmark.facts),
            "train": {"queries": len(train.queries), "pairs": len(pairs), "hash": _hash_pairs(pairs, query_texts)},
            "view": self.view.settings(),
            "cut_by_caps": ledger.shares(),
            "cut_by_window": self._cut_by_window(encoder, skill_texts, query_texts),
            "start": {"model": self.model, "fingerprint": encoder.fingerprint()},
        }
        self._log_summary(pairs, train, dev, encoder, options)
        module = self._module(encoder, len(pairs), options, run.seed)
        data = PairDataModule(
            pairs,
            self._collate(encoder, query_texts, skill_texts),
            batch_size=self.batch_size,
            seed=run.seed,
            workers=self.workers,
        )
        evaluation = self._evaluation(encoder, dev, query_texts, skill_texts)
        history = fit_module(module, data, evaluation, options, monitor=self.monitor, logger=logger, folder=run.path)
        best = best_epoch(history, self.monitor)
        self._export(encoder, best, history, run)
        return best["values"][self.monitor]

    def _measured(self) -> list[str]:
        return list(dict.fromkeys([self.monitor, *self.measures]))

    def check(self, benchmark: Benchmark) -> None:
        """Raise UserError if a split is missing or holds no query with a required skill; warn of shared skills."""
        train, dev = benchmark.split(self.train_split), benchmark.split(self.dev_split)
        pairs = pairs_from(train.queries, train.qrels, {})
        required = {skill for query in dev.queries for skill in dev.qrels.required.get(query.query_id, ())}
        for what, there, key in (("training pair", pairs, "train_split"), ("dev query", required, "dev_split")):
            if not there:
                fix = f"gives no {what} with a required skill"
                raise UserError("config", f"component.{key}", getattr(self, key), fix)
        shared = sorted(required & {pair.skill_id for pair in pairs})
        if shared:
            log.warning("%d skills are required in train and in dev (%s, …): dev flatters", len(shared), shared[0])

    def _encoder(self) -> BiEncoder:
        import torch

        from skillfit.models.bi_encoder import BiEncoder

        encoder = BiEncoder.load(
            self.model,
            max_length=self.max_length,
            query_prompt=self.query_prompt,
            document_prompt=self.document_prompt,
        )
        if self.dropout is not None:
            for module in encoder.model.modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = self.dropout
        return encoder

    def _cut_by_window(
        self, encoder: BiEncoder, skill_texts: Mapping[str, str], query_texts: Mapping[str, str]
    ) -> dict[str, float]:
        return {
            "skills": encoder.count_cut(list(skill_texts.values()), "document") / len(skill_texts),
            "queries": encoder.count_cut(list(query_texts.values()), "query") / len(query_texts),
        }

    def _log_summary(
        self, pairs: Sequence[Pair], train: Benchmark, dev: Benchmark, encoder: BiEncoder, options: TrainerOptions
    ) -> None:
        trainable = sum(p.numel() for p in encoder.model.parameters() if p.requires_grad)
        log.info(
            "start weights %s, step 0: %.1f M trainable parameters, view %s, window %d tokens",
            self.model, trainable / 1e6, self.view.name, encoder.max_length,
        )  # fmt: skip
        log.info(
            "%d training queries, %d pairs, %d dev queries; %d batches an epoch, %d epochs",
            len(train.queries), len(pairs), len(dev.queries), -(-len(pairs) // self.batch_size), options.max_epochs,
        )  # fmt: skip
        log.info(
            "up to %d candidates a query, all in-batch; accumulating gradients over %d batches adds none",
            self.batch_size, options.accumulate_grad_batches,
        )  # fmt: skip

    def _module(self, encoder: BiEncoder, pairs: int, options: TrainerOptions, seed: int) -> RetrieverModule:
        import pytorch_lightning as pl

        from skillfit.losses import info_nce
        from skillfit.training.retriever_module import RetrieverModule
        from skillfit.training.schedule import warmup_then_decay

        pl.seed_everything(seed, workers=True, verbose=False)
        batches = -(-pairs // self.batch_size)
        total = options.max_epochs * -(-batches // options.accumulate_grad_batches)
        total = min(total, options.max_steps) if options.max_steps > 0 else total
        return RetrieverModule(
            encoder.model,
            functools.partial(info_nce, temperature=self.temperature),
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            schedule=functools.partial(
                warmup_then_decay, total=total, warmup_share=self.warmup_share, shape=self.schedule
            ),
        )

    def _collate(self, encoder: BiEncoder, query_texts: Mapping[str, str], skill_texts: Mapping[str, str]) -> Any:
        from skillfit.data.collate import RetrieverCollate

        prepare = {kind: functools.partial(encoder.model.preprocess, prompt=p) for kind, p in encoder.prompts.items()}
        return RetrieverCollate(query_texts, skill_texts, prepare["query"], prepare["document"])

    def _evaluation(
        self, encoder: BiEncoder, dev: Benchmark, query_texts: Mapping[str, str], skill_texts: Mapping[str, str]
    ) -> DevEvaluation:
        from skillfit.training.callbacks import DevEvaluation
        from skillfit.training.dev import DevSet

        measures = parse_measures(self._measured(), place="component")
        dev_set = DevSet(dev.queries, query_texts, skill_texts, dev.qrels, measures, self.eval_batch_size)
        return DevEvaluation(encoder, dev_set)

    def _export(self, encoder: BiEncoder, best: EpochRow, history: list[EpochRow], run: RunFolder) -> None:
        encoder.model.eval()
        card = {
            "kind": "retriever",
            "base_model": Path(self.model).name,
            "base_fingerprint": run.facts["start"]["fingerprint"],
            "view": self.view.settings(),
            "temperature": self.temperature,
            "training_data": run.facts["train"],
            "corpus_hash": run.facts["data"]["corpus_hash"],
            "dev": dict(best),
        }
        encoder.save(run.path / "model", card)
        run.facts["model"] = {"fingerprint": encoder.fingerprint(), "best_epoch": best["epoch"]}
        write_json(run.path / "metrics.json", {"rows": self._rows(history, run), "provenance": run.provenance()})

    def _rows(self, history: list[EpochRow], run: RunFolder) -> list[dict[str, Any]]:
        shared = {"suite": "training", "benchmark": run.facts["data"]["name"], "group": self.dev_split}
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


def _hash_pairs(pairs: Sequence[Pair], query_texts: Mapping[str, str]) -> str:
    return hash_text(*(json.dumps([pair.skill_id, query_texts[pair.query_id]]) for pair in pairs))
