"""Run folders of the form that the routing suite writes, small and made from a seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

METRICS = ("Hit@1", "MRR@10", "nDCG@10", "Recall@10", "Recall@20", "Recall@50", "FC@10")
FAMILIES = ("pdf-tables", "schema-migration", "log-triage", "secret-rotation")
DOMAINS = ("finance", "<i>health</i> & care", "$x^2$ law")
ATTACK = "<script>alert('skill')</script>"
Builder = Callable[..., Path]


def make_queries(system: str, n: int, skill: float, seed: int) -> list[dict[str, Any]]:
    """Rows of per_query.parquet; two systems with one seed share their queries and their hard ones."""
    shared, own = np.random.default_rng(seed), np.random.default_rng([seed, *system.encode()])
    rows = []
    for i in range(n):
        size, ease = ("single" if shared.random() < 0.4 else "multi"), shared.random()
        rank = max(1, round((1.6 - skill - ease * 0.6) * 12 + own.normal(0, 3)))
        required = 1 if size == "single" else 3
        found = [float(own.random() < 1 / (1 + rank / k)) for k in (10, 20, 50)]
        values = (float(rank == 1), 1 / rank if rank <= 10 else 0.0, 1 / np.log2(rank + 1) if rank <= 10 else 0.0)
        rows.append(
            {
                "system": system,
                "query_id": f"q{i:03}",
                "size": size,
                "n_required": required,
                "answered": True,
                "first_rank": rank if rank <= 100 else None,
                **dict(zip(METRICS, (*map(float, values), *found, float(found[0] == 1)), strict=True)),
                "group:family": FAMILIES[i % len(FAMILIES)],
                "group:domain": DOMAINS[i % len(DOMAINS)] if i % 7 else None,
            }
        )
    return rows


def metric_rows(rows: Sequence[Mapping[str, Any]], benchmark: str) -> list[dict[str, Any]]:
    """Rows of metrics.json from per-query rows, with simple intervals."""
    groups: dict[str, list[Mapping[str, Any]]] = {"all": list(rows)}
    for row in rows:
        groups.setdefault(row["size"], []).append(row)
        groups.setdefault(f"family={row['group:family']}", []).append(row)
        groups.setdefault(f"domain={row['group:domain'] or '(not given)'}", []).append(row)
    found = []
    for group, members in groups.items():
        for metric in METRICS:
            values = [row[metric] for row in members]
            mean, half = float(np.mean(values)), float(1.96 * np.std(values) / len(values) ** 0.5)
            bounds = {"value": mean, "low": max(0.0, mean - half), "high": min(1.0, mean + half), "n": len(members)}
            head = {"suite": "routing", "benchmark": benchmark, "system": members[0]["system"]}
            found.append({**head, "group": group, "metric": metric, **bounds})
    return found


def worst_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of worst.json, with text that a report must not let through as markup."""
    found = []
    for row in sorted(rows, key=lambda row: (row["nDCG@10"], row["query_id"]))[:10]:
        rank = row["first_rank"]
        above = min(5, (rank or 6) - 1)
        found.append(
            {
                "system": row["system"],
                "query_id": row["query_id"],
                "text": f"{ATTACK} Please pull the tables out of the quarterly report, then chart revenue by region.",
                "size": row["size"],
                "metric": "nDCG@10",
                "value": row["nDCG@10"],
                "required": [
                    {"skill_id": "pdf/lift", "name": "pdf-lift", "description": f"Reads {ATTACK} tables.", "rank": rank}
                ],
                "above": [
                    {
                        "skill_id": f"other/{k}",
                        "name": f"table-reader-{k}",
                        "description": "Looks alike: extracts rows from documents and writes them as CSV.",
                        "rank": k + 1,
                        "score": 21.5 - k,
                    }
                    for k in range(above)
                ],
            }
        )
    return found


def provenance(systems: Sequence[str], name: str, corpus_hash: str, n: int) -> dict[str, Any]:
    view = {"name": "full", "caps": {"query": 2000, "name": None, "description": 500, "body": 8000}}
    facts = {
        "retriever": {"kind": "lexical", "depth": 100},
        "view": view,
        "cut_by_caps": {"name": 0.0, "description": 0.0312, "body": 0.2104, "query": 0.0001},
        "seconds": {"index": 1.5, "search": 0.25},
    }
    counts = {"queries": n + 12, "scored": n, "none": 8, "unjudged": 4, "missing": 1, "outside_pool": 0}
    return {
        "job": "evaluate",
        "command": ["evaluate.py", "suite=routing", f"data={name}", "system=a b"],
        "seed": 7,
        "started": "2026-01-02T03:04:05+00:00",
        "written": "2026-01-02T03:05:05+00:00",
        "config": {"profile": "default", "seed": 7},
        "config_hash": "c0ffee",
        "code": {"commit": "0123abcd", "modified": True},
        "versions": {"skillfit": "0.1.0", "numpy": "2.0"},
        "machine": {"system": "Linux", "processor_count": 2, "python": "3.11"},
        "data": {"name": name, "corpus_hash": corpus_hash, "queries_hash": "q", "skills": 11715, "queries": n + 12},
        "counts": {system: counts for system in systems},
        "systems": {system: facts for system in systems},
    }


@pytest.fixture
def make_run(tmp_path: Path) -> Builder:
    """Build a run folder; keyword arguments change what it holds, `edit` gets the pieces before they are written."""

    def build(
        folder: str = "run",
        systems: Mapping[str, float] | None = None,
        *,
        n: int = 75,
        seed: int = 0,
        benchmark: str = "skillsbench",
        corpus_hash: str = "aaaa",
        status: str = "finished",
        edit: Callable[[dict[str, Any]], None] | None = None,
    ) -> Path:
        chosen = systems or {"bm25": 0.5}
        tables = {system: make_queries(system, n, skill, seed) for system, skill in chosen.items()}
        pieces: dict[str, Any] = {
            "rows": [row for table in tables.values() for row in metric_rows(table, benchmark)],
            "provenance": provenance(list(chosen), benchmark, corpus_hash, n),
            "worst": [row for table in tables.values() for row in worst_rows(table)],
            "per_query": [row for table in tables.values() for row in table],
            "state": {"job": "evaluate", "status": status},
        }
        if edit:
            edit(pieces)
        path = tmp_path / folder
        path.mkdir(parents=True)
        write = {"metrics.json": {k: pieces[k] for k in ("rows", "provenance")}, "worst.json": pieces["worst"]}
        for name, value in {**write, "run.json": pieces["state"]}.items():
            (path / name).write_text(json.dumps(value), encoding="utf-8")
        pq.write_table(pa.Table.from_pylist(pieces["per_query"]), path / "per_query.parquet")
        return path

    return build
