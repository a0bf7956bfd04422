"""The system under evaluation: a retriever that searches, or somebody's run file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillfit.data.benchmark import Benchmark
from skillfit.errors import UserError
from skillfit.io import read_run
from skillfit.search.base import Searcher
from skillfit.types import Run


def answer(
    benchmark: Benchmark, searcher: Searcher | None, run_file: str | None, *, name: str | None, profile: str
) -> tuple[str, Run, dict[str, Any]]:
    """The system's name, its run over the benchmark, and the facts of how it came about.

    A run file is read as it is; answers to queries outside the benchmark are left out and counted. profile `sr` keeps
    skills listed twice. Raises UserError for a file that answers none of the queries.
    """
    if run_file:
        run = read_run(run_file, allow_repeats=profile == "sr")
        asked = {query.query_id for query in benchmark.queries}
        kept = Run({query_id: run[query_id] for query_id in run if query_id in asked})
        if not kept:
            raise UserError(run_file, "query ids", next(iter(run)), "none of them is a query of this benchmark")
        facts = {"run_file": Path(run_file).name, "answers": len(run), "answers_to_other_queries": len(run) - len(kept)}
        return name or Path(run_file).stem, kept, facts
    if searcher is None:
        raise UserError("config", "retriever", fix="name a retriever, or a run file with run=FILE")
    run, found = searcher.search(benchmark.corpus, benchmark.queries)
    kind = found.facts["retriever"]["kind"]
    return name or f"{kind}-{_view_name(found.facts)}", run, found.facts


def _view_name(facts: dict[str, Any]) -> str:
    if "view" in facts:
        return str(facts["view"]["name"])
    return "+".join(dict.fromkeys(_view_name(part) for part in facts["parts"].values()))
