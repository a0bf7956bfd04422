"""Mine hard negatives: `skillfit mine data=… mix=… out=DIR` (see conf/mine.yaml)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from skillfit.cli.app import build, job, plain, set_up_logging
from skillfit.errors import UserError
from skillfit.io.files import hash_file, hash_text, refuse_nonempty

if TYPE_CHECKING:
    from skillfit.data.benchmark import Benchmark
    from skillfit.data.mining import Mined, Mix
    from skillfit.search.dense import DenseRetriever
    from skillfit.types import Run

log = logging.getLogger("skillfit.mine")
RETRIEVERS = ("semantic", "lexical")  # the runs that can be searched for
DENSE = "semantic"
QUERY_COUNTS = ("queries_unanswered", "queries_without_ranked_positive")  # the others are of candidates


@job("mine")
def main(cfg: DictConfig) -> None:
    """Search or read the runs, mine, write the folder, tell the counts and end stdout with the folder."""
    set_up_logging(cfg.verbose)
    config, out = plain(cfg), Path(str(cfg.out))
    refuse_nonempty(out)
    from skillfit.data.categories import find_categories
    from skillfit.data.false_negatives import FalseNegativeFilter
    from skillfit.data.mining import all_positives, mine
    from skillfit.data.negatives import write_mined

    mix, options, by, data = (build(cfg, key) for key in ("mix", "filter", "categories", "data"))
    files, searchers = _plan(cfg, mix)
    dense = _dense(cfg, searchers)
    given = {name: _read(file) for name, file in files.items()}
    benchmark = data.load_all(Path(cfg.cache).expanduser(), unknown=cfg.qrels.unknown).split(cfg.split)
    positives, left_out = all_positives(benchmark.queries, benchmark.qrels)
    if not positives:
        raise UserError(benchmark.name, "queries", len(benchmark.queries), "none of them has a required skill")
    runs, told = _runs(benchmark, positives, given, files, searchers)
    vectors = dense.skill_vectors(benchmark.corpus) if dense else None
    if vectors is None and "cosine" in options.wanted():
        log.warning(
            "the cosine layer is off: there is no dense search; vectors=always encodes the pool with encoder.model"
        )
    categories = None
    if mix.needs_categories():
        categories = find_categories(benchmark.corpus, by, seed=cfg.seed, vectors=vectors)
    guard = FalseNegativeFilter(benchmark.corpus, options, vectors)
    mined = mine(
        benchmark.corpus, positives, runs, mix, guard=guard, categories=categories, short=cfg.short, seed=cfg.seed
    )
    facts = {
        "corpus_hash": benchmark.corpus.content_hash,
        "queries_hash": benchmark.facts["queries_hash"],
        "data": dict(benchmark.facts),
        "split": cfg.split,
        "seed": cfg.seed,
        "short": cfg.short,
        "mix": asdict(mix)["kinds"],
        "filter": {**asdict(options), "layers": list(guard.layers)},
        "categories": dict(categories.facts) if categories else None,
        "runs": told,
        "counts": _counts(mined, benchmark, left_out),
        **_origin(config),
    }
    write_mined(out, mined.rows, facts)
    _tell(facts["counts"])
    sys.stdout.write(f"{cfg.out}\n")


def _plan(cfg: DictConfig, mix: Mix) -> tuple[dict[str, str], dict[str, Any]]:
    """Which file gives a run, and which retriever makes one."""
    named = {str(name): file for name, file in cfg.runs.items() if file is not None}
    for name, file in named.items():
        if name not in mix.runs():
            used = ", ".join(mix.runs()) or "no run"
            raise UserError("config", f"runs.{name}", file, f"the mix takes nothing from it, but from {used}")
    searchers = {}
    for name in mix.runs():
        if name in named:
            continue
        if name not in RETRIEVERS:
            raise UserError("config", f"runs.{name}", fix=f"the mix takes from it: add +runs.{name}=FILE")
        searchers[name] = build(cfg, name)
        for kind, options in mix.kinds.items():
            if (options.run or kind) == name and options.window and options.window[1] > searchers[name].depth:
                fix = f"is less than rank {options.window[1]}, where the window of mix.kinds.{kind} ends"
                raise UserError("config", f"{name}.depth", searchers[name].depth, fix)
    return named, searchers


def _dense(cfg: DictConfig, searchers: Mapping[str, Any]) -> DenseRetriever | None:
    """The retriever whose vectors serve the filter and the clusters."""
    from skillfit.search.dense import DenseRetriever

    if cfg.vectors == "never" or (cfg.vectors == "searched" and DENSE not in searchers):
        return None
    found = searchers.get(DENSE) or build(cfg, DENSE)
    if isinstance(found, DenseRetriever):
        return found
    if cfg.vectors == "always":
        raise UserError("config", "vectors", cfg.vectors, f"{DENSE} is no dense retriever and has no vectors")
    return None


def _read(file: str) -> Run:
    from skillfit.io.runs import read_run

    return read_run(file)


def _runs(
    benchmark: Benchmark,
    positives: Mapping[str, Any],
    given: Mapping[str, Run],
    files: Mapping[str, str],
    searchers: Mapping[str, Any],
) -> tuple[dict[str, Run], dict[str, Any]]:
    """The runs by name, and for the manifest what each is, with a hash of its content."""
    from skillfit.evaluation.systems import given as taken

    runs, told = {}, {}
    queries = [query for query in benchmark.queries if query.query_id in positives]
    for name, run in given.items():
        _, runs[name], facts = taken(files[name], run, benchmark)
        told[name] = facts | {"sha256": hash_file(Path(files[name]))}
    for name, searcher in searchers.items():
        runs[name], found = searcher.search(benchmark.corpus, queries)
        told[name] = {"searched": found.facts}
    return runs, {name: {**facts, "content_hash": _hash_run(runs[name])} for name, facts in told.items()}


def _hash_run(run: Run) -> str:
    """A hash of rankings and scores in order of query."""
    return hash_text(*(f"{query_id}\t{run[query_id].skill_ids}\t{run[query_id].scores}" for query_id in sorted(run)))


def _counts(mined: Mined, benchmark: Benchmark, left_out: Mapping[str, int]) -> dict[str, Any]:
    """What mining counted, with the queries there was nothing to mine for."""
    queries = {"input": len(benchmark.queries), **left_out, **mined.counts["queries"]}
    return {**mined.counts, "queries": queries}


def _origin(config: Mapping[str, Any]) -> dict[str, Any]:
    from skillfit.provenance import git_state, versions

    return {"config": dict(config), "code": git_state(Path(__file__).parent), "versions": versions()}


def _tell(counts: Mapping[str, Any]) -> None:
    queries, seen = dict(counts["queries"]), counts["candidates"]["seen"]
    apart = ", ".join(f"{queries[name]} {name.replace('_', ' ')}" for name in ("needing_no_skill", "unjudged"))
    log.info("queries: %d, of them %s and %d mined", queries["input"], apart, queries["mined"])
    log.info("kept %(kept)d (%(padded)d padded), short %(short)d (%(empty)d empty), dropped %(dropped)d", queries)
    for kind, row in counts["kinds"].items():
        passed = {name: n for name, n in row.items() if name not in ("asked", "seen", "kept", *QUERY_COUNTS) and n}
        why = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in passed.items()) or "none passed over"
        log.info("%s: %d of %d asked for, from %d candidates (%s)", kind, row["kept"], row["asked"], row["seen"], why)
        for name in QUERY_COUNTS:
            if row.get(name):
                log.info("%s: %d %s", kind, row[name], name.replace("_", " "))
    for layer, row in counts["layers"].items():
        if 2 * row["removed"] > seen:
            log.warning("layer %s removed %d of %d candidates: look at its threshold", layer, row["removed"], seen)
        log.info("layer %s: removed %d, objects to %d of %d candidates", layer, row["removed"], row["objects_to"], seen)


if __name__ == "__main__":
    main()
