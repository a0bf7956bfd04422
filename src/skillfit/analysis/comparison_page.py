"""The page of a comparison: all systems on the shared queries, and their differences to the baseline."""

from __future__ import annotations

from typing import Any

from skillfit.analysis.compare import TESTED, Comparison
from skillfit.analysis.plots import ForestPoint, forest
from skillfit.analysis.render import Page, Section, figure
from skillfit.analysis.run_page import page_facts
from skillfit.analysis.sections import (
    MINI_NOTICE,
    counts_section,
    group_label,
    groups_section,
    headline_groups,
    one_a_family,
    provenance_section,
    truncation_section,
)


def comparison_page(comparison: Comparison) -> Page:
    """The report of a comparison."""
    record = comparison.systems[0].record
    systems = {system.label: (system.record, system.name) for system in comparison.systems}
    rows = [compared.row for compared in comparison.rows]
    found = [
        Section("results", "Results", "overview.html.j2", {"tables": _overview(comparison)}),
        _differences(comparison),
        groups_section(rows, comparison.metrics),
        counts_section(systems),
        truncation_section(systems),
        provenance_section({_heading(comparison, path): p for path, p in _runs(comparison).items()}),
    ]
    skills, _, *_ = (*page_facts(record), "")
    return Page(
        kind=f"{record.suite} comparison",
        title=record.benchmark,
        subtitle=f"{len(comparison.systems)} systems against {comparison.baseline}",
        facts=(skills, f"{comparison.n:,} shared queries"),
        sections=tuple(section for section in found if section),
        notices=((MINI_NOTICE,) if record.is_mini else ()) + comparison.notes,
    )


def _overview(comparison: Comparison) -> list[dict[str, Any]]:
    tables = []
    for group in headline_groups([compared.row for compared in comparison.rows]):
        rows: list[dict[str, Any]] = [
            {
                "system": system.label,
                "is_baseline": system.label == comparison.baseline,
                "cells": [comparison.find(system.label, group, metric) for metric in comparison.metrics],
            }
            for system in comparison.systems
        ]
        n = next(cell.row.n for row in rows for cell in row["cells"] if cell)
        tables.append({"label": group_label(group), "n": n, "metrics": comparison.metrics, "rows": rows})
    return tables


def _differences(comparison: Comparison) -> Section | None:
    others = [system.label for system in comparison.systems if system.label != comparison.baseline]
    if not others:
        return None
    first = one_a_family(comparison.metrics)
    panels = {metric: figure(forest(_points(comparison, others, metric), metric, comparison.baseline))
              for metric in comparison.metrics}  # fmt: skip
    data = {
        "baseline": comparison.baseline,
        "n": comparison.n,
        "others": len(others),
        "options": comparison.options,
        "panels": [panels[metric] for metric in first],
        "more": [panels[metric] for metric in comparison.metrics if metric not in first],
        "more_names": [metric for metric in comparison.metrics if metric not in first],
        "tables": [table for group in TESTED if (table := _tested(comparison, others, group))],
    }
    return Section("differences", f"Differences to {comparison.baseline}", "differences.html.j2", data)


def _points(comparison: Comparison, systems: list[str], metric: str) -> list[ForestPoint]:
    points = []
    for system in systems:
        cell = comparison.find(system, "all", metric)
        if cell and cell.difference:
            d = cell.difference
            points.append(ForestPoint(system, d.difference, d.difference_low, d.difference_high))
    return points


def _tested(comparison: Comparison, systems: list[str], group: str) -> dict[str, Any] | None:
    blocks = []
    for metric in comparison.metrics:
        cells = [(system, comparison.find(system, group, metric)) for system in systems]
        rows = [{"system": system, "d": cell.difference} for system, cell in cells if cell and cell.difference]
        if rows:
            blocks.append({"metric": metric, "rows": rows})
    if not blocks:
        return None
    base = comparison.find(comparison.baseline, group, comparison.metrics[0])
    return {"group": group, "label": group_label(group), "n": base.row.n if base else 0, "blocks": blocks}


def _runs(comparison: Comparison) -> dict[str, Any]:
    return {str(system.record.path): system.record.provenance for system in comparison.systems}


def _heading(comparison: Comparison, path: str) -> str:
    return ", ".join(system.label for system in comparison.systems if str(system.record.path) == path)
