"""What a training run says before its first step: weights, data, candidates a query, memory settings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import PairSet
from skillfit.training.encoder_setup import log_trainable
from skillfit.training.options import TrainerOptions

if TYPE_CHECKING:
    from skillfit.models.bi_encoder import BiEncoder
    from skillfit.training.retriever import RetrieverFitter

log = logging.getLogger(__name__)


def log_summary(
    fitter: RetrieverFitter, pairs: PairSet, dev: Benchmark, encoder: BiEncoder, options: TrainerOptions
) -> None:
    """Log the start-up summary."""
    log_trainable(encoder, fitter.model)
    world = options.processes()
    batch = fitter.batch_size * world
    queries = len({pair.query_id for pair in pairs.pairs})
    log.info(
        "%d pairs of %d queries, %d dev queries; %d batches an epoch, %d epochs, view %s",
        len(pairs.pairs), queries, len(dev.queries), -(-len(pairs.pairs) // batch), options.max_epochs,
        fitter.view.name,
    )  # fmt: skip
    shown = {name: count for name, count in pairs.counts.items() if count}
    if not shown.get("negatives_attached"):
        shown = {name: count for name, count in shown.items() if not name.startswith("negatives_")}
    log.info("pairs: %s", ", ".join(f"{name} {count}" for name, count in shown.items()))
    in_batch = min(len(pairs.pairs), batch if fitter.gather else fitter.batch_size)
    mined = max((len(pair.negatives) for pair in pairs.pairs), default=0)
    rows = in_batch if fitter.negatives.shared else 1
    gathered = "" if world == 1 else ", gathered over processes" if fitter.gather else ", of one process each"
    log.info(
        "at most %d candidates a query: %d positives of the batch and %d mined%s; gradients accumulated over %d "
        "batches add none",
        in_batch + rows * mined, in_batch, rows * mined, gathered, options.accumulate_grad_batches,
    )  # fmt: skip
    encoded = "twice, keeping the activations of one chunk (GradCache)" if fitter.cached else "once"
    rows_text = "" if fitter.chunk is None else f" and {fitter.chunk} texts"
    log.info(
        "batch of %d pairs a process, encoded %s, in chunks of at most %d tokens%s",
        fitter.batch_size, encoded, fitter.chunk_tokens, rows_text,
    )  # fmt: skip
    if fitter.chunk is not None and fitter.chunk >= fitter.batch_size * (1 + mined):
        log.warning("component.chunk=%d is no smaller than a batch: it has no effect", fitter.chunk)
