"""The system under evaluation: a retriever that searches, or somebody's run file. Each gives name, run and facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillfit.data.benchmark import Benchmark
from skillfit.errors import UserError
from skillfit.search.base import Searcher
from skillfit.types import Run

Answer = tuple[str, Run, dict[str, Any]]


def given(file: str, run: Run, benchmark: Benchmark) -> Answer:
    """A run read from a file, named after it; answers to queries outside the benchmark are left out and counted.

    Raises UserError if it answers none of the queries.
    """
    asked = {query.query_id for query in benchmark.queries}
    kept = Run({query_id: run[query_id] for query_id in run if query_id in asked})
    if not kept:
        raise UserError(file, "query ids", next(iter(run)), "none of them is a query of this benchmark")
    facts = {"run_file": Path(file).name, "answers": len(run), "answers_to_other_queries": len(run) - len(kept)}
    return Path(file).stem, kept, facts


def search(searcher: Searcher, benchmark: Benchmark) -> Answer:
    """The run of a retriever over the benchmark, named after its kind and view."""
    run, found = searcher.search(benchmark.corpus, benchmark.queries)
    return f"{found.facts['retriever']['kind']}-{_view_name(found.facts)}", run, found.facts


def _view_name(facts: dict[str, Any]) -> str:
    if "view" in facts:
        return str(facts["view"]["name"])
    return "+".join(dict.fromkeys(_view_name(part) for part in facts["parts"].values()))
