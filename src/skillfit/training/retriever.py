"""The retriever's fitter: from a benchmark with train and dev queries to a model folder."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import PairSet, join_pairs
from skillfit.data.leakage import Rule, check_leakage, protected_skills
from skillfit.data.negatives import NegativeOptions
from skillfit.data.pairs.judged import JudgedPairs
from skillfit.data.views import CutLedger, TextView
from skillfit.errors import UserError
from skillfit.metrics.measures import parse_measures
from skillfit.models.checks import check_window
from skillfit.models.lora import LoraOptions
from skillfit.models.source import EMBEDDED, resolve_model
from skillfit.provenance import RunFolder
from skillfit.training.options import TrainerOptions
from skillfit.training.retriever_data import Chunking, TrainingTexts, collate_of, with_negatives

if TYPE_CHECKING:
    from skillfit.models.bi_encoder import BiEncoder
    from skillfit.training.callbacks import DevEvaluation
    from skillfit.training.retriever_module import RetrieverModule

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", arbitrary_types_allowed=True))
class RetrieverFitter:
    """Fine-tunes a bi-encoder with InfoNCE over in-batch and mined negatives (temperature 0.05: SkillRouter, 4).

    A skill is never the negative of a query that requires it or a copy of it. After each epoch the dev queries rank the
    whole pool; the best epoch by `monitor` is exported. pairs: where training pairs come from, by name. What the other
    settings mean is in docs/training.md; None keeps the model's own.
    """

    view: TextView
    model: str = EMBEDDED
    pooling: Literal["mean", "cls", "last"] | None = None
    max_length: int | None = Field(default=None, ge=8)
    query_prompt: str | None = None
    document_prompt: str | None = None
    pairs: dict[str, Any] = Field(default_factory=lambda: {"judged": JudgedPairs()}, min_length=1)
    negatives: NegativeOptions = Field(default_factory=NegativeOptions)
    temperature: float = Field(default=0.05, gt=0, allow_inf_nan=False)
    matryoshka: list[int] | None = None
    distillation: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    gather: bool = True
    learning_rate: float = Field(default=2e-5, gt=0, allow_inf_nan=False)
    weight_decay: float = Field(default=0.01, ge=0, allow_inf_nan=False)
    warmup_share: float = Field(default=0.1, ge=0, le=1)
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    dropout: float | None = Field(default=None, ge=0, lt=1)
    attention_dropout: float | None = Field(default=None, ge=0, lt=1)
    freeze_embeddings: bool = False
    lora: LoraOptions | None = None
    gradient_checkpointing: bool = False
    batch_size: int = Field(default=32, ge=2)
    cached: bool = False
    chunk: int | None = Field(default=None, ge=1)
    chunk_tokens: int = Field(default=2048, ge=1)
    eval_batch_size: int = Field(default=32, ge=1)
    eval_dtype: Literal["float32", "bfloat16"] = "float32"
    workers: int = Field(default=0, ge=0)
    train_split: str = "train"
    dev_split: str = "dev"
    monitor: str = "nDCG@10"
    measures: list[str] = Field(default_factory=lambda: ["Hit@1", "MRR@10", "nDCG@10", "Recall@10"])
    patience: int | None = Field(default=None, ge=1)
    evaluate_every: int = Field(default=1, ge=1)
    checkpoint_every: int = Field(default=100, ge=1)
    train_passages: int | None = Field(default=None, ge=1)
    leakage: Rule = "refuse"
    cache: Path | None = None

    def __post_init__(self) -> None:
        resolve_model(self.model)
        check_window(self.model, self.max_length)
        parse_measures(self.measured(), place="component")

    def measured(self) -> list[str]:
        """The dev measures, the monitored one first."""
        return list(dict.fromkeys([self.monitor, *self.measures]))

    def check(
        self, benchmark: Benchmark, protected: Sequence[Benchmark], options: TrainerOptions, seed: int
    ) -> PairSet:
        """The training pairs, checked before a run folder is made.

        Raises UserError if a split is missing or gives nothing to train or to evaluate on, for mined negatives of
        another corpus, and for pairs that hold what `protected` tests.
        """
        self._check_epochs(options)
        dev = benchmark.split(self.dev_split)
        if not any(dev.qrels.required.get(query.query_id) for query in dev.queries):
            raise UserError("config", "component.dev_split", self.dev_split, "gives no query with a required skill")
        found = self._pairs(benchmark, protected, seed)
        if not found.pairs:
            raise UserError("config", "component.pairs", ", ".join(self.pairs), "give no training pair")
        found = with_negatives(found, self.negatives, benchmark.corpus, seed)
        required = {skill for query in dev.queries for skill in dev.qrels.required.get(query.query_id, ())}
        shared = sorted(required & {pair.skill_id for pair in found.pairs})
        if shared:
            log.warning("%d skills are required in train and in dev (%s, …): dev flatters", len(shared), shared[0])
        return found

    def fit(self, benchmark: Benchmark, pairs: PairSet, options: TrainerOptions, logger: Any, run: RunFolder) -> float:
        """Train, write the best epoch to `model/` and the dev values to `metrics.json`; returns the best `monitor`."""
        import pytorch_lightning as pl

        from skillfit.data.datamodule import PairDataModule
        from skillfit.training.encoder_setup import prepare
        from skillfit.training.fit import FitSettings, best_epoch, fit_module
        from skillfit.training.passage_choice import choose_passages
        from skillfit.training.retriever_export import export, start_facts
        from skillfit.training.retriever_summary import log_summary

        pl.seed_everything(run.seed, workers=True, verbose=False)  # adapters start from random weights
        encoder, ledger = self._encoder(), CutLedger()
        texts = TrainingTexts.of(pairs, benchmark, self.view, ledger)
        run.facts |= start_facts(self, benchmark, pairs, texts, encoder, ledger)
        if self.train_passages is not None and self.view.passages:
            pairs, texts = choose_passages(pairs, texts, encoder, self.train_passages, self.eval_dtype)
        prepare(
            encoder,
            lora=self.lora,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            freeze_embeddings=self.freeze_embeddings,
            gradient_checkpointing=self.gradient_checkpointing,
        )
        dev = benchmark.split(self.dev_split)
        log_summary(self, pairs, dev, encoder, options)
        module = self._module(encoder, len(pairs.pairs), options, run.seed)
        store = (self.cache.expanduser() if self.cache else run.path / "cache") / "tokens"
        chunking = Chunking(self.chunk_tokens, self.chunk)
        data = PairDataModule(
            pairs.pairs,
            collate_of(texts, encoder, benchmark.corpus.ids, chunking, store),
            batch_size=self.batch_size,
            seed=run.seed,
            workers=self.workers,
        )
        evaluation = self._evaluation(encoder, benchmark, dev)
        settings = FitSettings(self.monitor, self.patience, self.checkpoint_every, run.resumed, self.evaluate_every)
        trainer = fit_module(module, data, evaluation, options, settings, logger=logger, folder=run.path)
        best = best_epoch(evaluation.history, self.monitor)
        if trainer.is_global_zero:
            export(self, encoder, best, evaluation.history, run)
        return best["values"][self.monitor]

    def _pairs(self, benchmark: Benchmark, protected: Sequence[Benchmark], seed: int) -> PairSet:
        from skillfit.data.examples import PairSource

        kept_out = protected_skills(benchmark, protected)
        sets = {}
        for name, source in self.pairs.items():
            if not isinstance(source, PairSource):
                raise UserError("config", f"component.pairs.{name}", source, "is no source of pairs; see conf/pairs")
            sets[name] = source.pairs(benchmark, split=self.train_split, seed=seed, protected=kept_out)
        found = join_pairs(sets)
        return replace(found, leakage=check_leakage(found, benchmark, protected, self.leakage))

    def _check_epochs(self, options: TrainerOptions) -> None:
        if options.max_epochs % self.evaluate_every:
            fix = f"the last of {options.max_epochs} epochs would not be evaluated; use a divisor of trainer.max_epochs"
            raise UserError("config", "component.evaluate_every", self.evaluate_every, fix)
        if self.patience is not None and self.evaluate_every > 1:
            raise UserError("config", "component.patience", self.patience, "needs component.evaluate_every=1")

    def _encoder(self) -> BiEncoder:
        from skillfit.models.bi_encoder import BiEncoder

        return BiEncoder.load(
            self.model,
            max_length=self.max_length,
            query_prompt=self.query_prompt,
            document_prompt=self.document_prompt,
            pooling=self.pooling,
        )

    def _module(self, encoder: BiEncoder, pairs: int, options: TrainerOptions, seed: int) -> RetrieverModule:
        from skillfit.training.objective import ContrastiveObjective
        from skillfit.training.retriever_module import RetrieverModule
        from skillfit.training.schedule import warmup_then_decay

        width = int(encoder.model.get_embedding_dimension() or 0)
        if wrong := [size for size in self.matryoshka or () if not 1 <= size <= width]:
            raise UserError("config", "component.matryoshka", wrong[0], f"embeddings have {width} dimensions")
        total = options.optimiser_steps(pairs, self.batch_size)
        passages = self.view.passages
        objective = ContrastiveObjective(
            temperature=self.temperature,
            passages=passages.score if passages else "max",
            shared=self.negatives.shared,
            gather=self.gather,
            matryoshka=tuple(self.matryoshka) if self.matryoshka else None,
            distillation=self.distillation,
        )
        return RetrieverModule(
            encoder.model,
            objective,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            schedule=functools.partial(
                warmup_then_decay, total=total, warmup_share=self.warmup_share, shape=self.schedule
            ),
            seed=seed,
            cached=self.cached,
        )

    def _evaluation(self, encoder: BiEncoder, benchmark: Benchmark, dev: Benchmark) -> DevEvaluation:
        from skillfit.training.callbacks import DevEvaluation
        from skillfit.training.dev import DevSet

        measures = parse_measures(self.measured(), place="component")
        queries = {query.query_id: self.view.query_text(query.text) for query in dev.queries}
        skills = {skill.skill_id: self.view.skill_texts(skill) for skill in benchmark.corpus}
        how = self.view.passages.score if self.view.passages else "max"
        dev_set = DevSet(
            dev.queries, queries, skills, dev.qrels, measures, self.eval_batch_size, score=how, dtype=self.eval_dtype
        )
        return DevEvaluation(encoder, dev_set, self.evaluate_every)
