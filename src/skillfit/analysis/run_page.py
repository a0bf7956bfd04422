"""The page of one run: its headline table, what its n can show, its groups and its worst queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skillfit.analysis.folder import MetricRow, RunRecord
from skillfit.analysis.render import Page, Section
from skillfit.analysis.sections import (
    MINI_NOTICE,
    counts_section,
    group_label,
    groups_section,
    headline_groups,
    provenance_section,
    truncation_section,
)
from skillfit.metrics.stats import minimum_detectable_effect

CORRELATIONS = (0.5, 0.0)  # between the per-query values of two systems: related ones, and unrelated ones


def run_page(record: RunRecord) -> Page:
    """The report of a run folder."""
    systems = {name: (record, name) for name in record.systems}
    found = [
        Section("results", "Results", "values.html.j2", {"tables": [values_table(record, s) for s in systems]}),
        detectable_section(record),
        counts_section(systems),
        truncation_section(systems),
        groups_section(record.rows, record.metrics),
        worst_section(record),
        provenance_section({"": record.provenance}),
    ]
    return Page(
        kind=f"{record.suite} evaluation",
        title=record.benchmark,
        subtitle=", ".join(record.systems),
        facts=page_facts(record),
        sections=tuple(section for section in found if section),
        notices=(MINI_NOTICE,) if record.is_mini else (),
    )


def page_facts(record: RunRecord) -> tuple[str, ...]:
    """The line under the title: size of the pool, queries scored, date."""
    scored = record.rows[0].n
    skills = record.data.get("skills")
    facts = [f"{skills:,} skills" if isinstance(skills, int) else "", f"{scored:,} queries scored"]
    return tuple(fact for fact in (*facts, str(record.provenance.get("written", ""))[:10]) if fact)


def values_table(record: RunRecord, system: str) -> dict[str, Any]:
    """A system's metrics (rows) on all, single- and multi-skill queries (columns)."""
    rows = [row for row in record.rows if row.system == system]
    cells = {(row.group, row.metric): row for row in rows}
    groups = headline_groups(rows)
    return {
        "system": system if len(record.systems) > 1 else "",
        "groups": [{"label": group_label(group), "n": _n(rows, group)} for group in groups],
        "rows": [
            {"metric": metric, "cells": [cells.get((group, metric)) for group in groups]} for metric in record.metrics
        ],
    }


def detectable_section(record: RunRecord) -> Section:
    """How small a difference to another system these queries could show, from the spread seen."""
    tables: list[dict[str, Any]] = []
    for system in record.systems:
        queries = record.queries[system]
        n = len(queries.query_ids)
        rows = []
        for metric in record.metrics:
            values = queries.values[metric]
            sd = float(np.std(values, ddof=1)) if n > 1 else 0.0
            effects = [
                minimum_detectable_effect(sd * (2 * (1 - r)) ** 0.5, n) if sd > 0 else None for r in CORRELATIONS
            ]
            rows.append({"metric": metric, "sd": sd if n > 1 else None, "effects": effects})
        tables.append({"system": system if len(record.systems) > 1 else "", "n": n, "one": 1 / n, "rows": rows})
    n = tables[0]["n"]
    return Section("n", f"What n = {n} can show", "detectable.html.j2", {"tables": tables, "n": n, "one": 1 / n})


def worst_section(record: RunRecord) -> Section | None:
    """The queries with the lowest values and what stood above the skills they need."""
    if not record.worst:
        return None
    systems = dict.fromkeys(query.system for query in record.worst)
    data: dict[str, Any] = {
        "several": len(systems) > 1,
        "systems": [{"name": s, "queries": [query for query in record.worst if query.system == s]} for s in systems],
    }
    most = max(len(system["queries"]) for system in data["systems"])
    title = "The worst query" if most == 1 else f"The {most} worst queries"
    return Section("worst", title, "worst.html.j2", data)


def _n(rows: Sequence[MetricRow], group: str) -> int:
    return next(row.n for row in rows if row.group == group)
