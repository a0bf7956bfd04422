"""The sections that reports of runs and of comparisons share: counts, cut texts, groups, provenance."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skillfit.analysis.folder import MetricRow, RunRecord
from skillfit.analysis.plots import axis_of, group_figure, sorted_groups, value_of
from skillfit.analysis.queries import SIZES
from skillfit.analysis.render import Section, figure

MINI_NOTICE = (
    "skillfit-mini is a demonstration and a test bed, not a benchmark: "
    "its numbers show that the pipeline works and say nothing about systems elsewhere."
)
COUNTS = {
    "queries": "queries in the data",
    "scored": "in the means of this report",
    "none": "need no skill, as the data declares; left out",
    "unjudged": "without a judgement; left out",
    "missing": "not answered by the system",
    "outside_pool": "whose required skills are not in the pool; left out",
    "repeats": "places in rankings that repeat a skill named before",
    "unknown": "answers to queries that the data does not have; ignored",
}
MISSING = {"default": "; scored as 0", "sr": "; left out, as profile sr does"}


def group_label(group: str) -> str:
    """A group's name as a heading."""
    return {"all": "All queries", "single": "Single-skill", "multi": "Multi-skill"}.get(group, group)


def counts_section(systems: Mapping[str, tuple[RunRecord, str]]) -> Section:
    """Where every query went. systems: label -> (record, its name there)."""
    counts = {label: record.counts(name) for label, (record, name) in systems.items()}
    record = next(iter(systems.values()))[0]
    profile = _mapping(record.provenance.get("config")).get("profile", "default")
    names = dict.fromkeys([*COUNTS, *(name for row in counts.values() for name in row)])
    rows = [
        {
            "name": name.replace("_", " "),
            "meaning": COUNTS.get(name, "") + (MISSING.get(str(profile), "") if name == "missing" else ""),
            "numbers": [row.get(name) for row in counts.values()],
        }
        for name in names
        if any(name in row for row in counts.values())
    ]
    return Section("counts", "Queries counted and left out", "counts.html.j2", {"systems": list(counts), "rows": rows})


def truncation_section(systems: Mapping[str, tuple[RunRecord, str]]) -> Section:
    """The shares of texts that a character cap or a model's window cut."""
    rows = [row for label, (record, name) in systems.items() for row in _cuts(label, record.facts(name))]
    known = {row["system"] for row in rows}
    silent = [label for label in systems if not any(name == label or name.startswith(f"{label} · ") for name in known)]
    return Section("cut", "Text cut before ranking", "truncation.html.j2", {"rows": rows, "silent": silent})


def _cuts(label: str, facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part, part_facts in _mapping(facts.get("parts")).items():
        yield from _cuts(f"{label} · {part}", _mapping(part_facts))
    caps = _mapping(_mapping(facts.get("view")).get("caps"))
    for name, cut in _mapping(facts.get("cut_by_caps")).items():
        limit = caps.get(name)
        told = f"{limit:,} characters" if isinstance(limit, int) else "no cap"
        yield {"system": label, "text": name, "by": "character cap", "limit": told, "share": cut}
    window = _mapping(facts.get("retriever")).get("max_length")
    for name, cut in _mapping(facts.get("cut_by_window")).items():
        told = f"{window:,} tokens" if isinstance(window, int) else "the model's"
        yield {"system": label, "text": name, "by": "model window", "limit": told, "share": cut}


def groups_section(rows: Sequence[MetricRow], metrics: Sequence[str]) -> Section | None:
    """Bars and tables of all axes; None if the rows have no group beside `all`."""
    axes = list(dict.fromkeys(axis_of(row.group) for row in rows if row.group != "all"))
    if not axes:
        return None
    data = {"axes": [_axis(rows, axis, metrics) for axis in axes], "first": metrics[0]}
    return Section("groups", "Results by group", "groups.html.j2", data)


def _axis(rows: Sequence[MetricRow], axis: str, metrics: Sequence[str]) -> dict[str, Any]:
    drawn = group_figure(rows, axis, metrics)
    members = [row for row in rows if axis_of(row.group) == axis]
    systems = list(dict.fromkeys(row.system for row in members))
    cells = {(row.system, row.group, row.metric): row for row in members}
    table: list[dict[str, Any]] = [
        {"system": system, "group": group, "cells": [cells.get((system, group, metric)) for metric in metrics]}
        for group in sorted_groups(members, systems[0], metrics[0])
        for system in systems
        if any((system, group, metric) in cells for metric in metrics)
    ]
    first = one_a_family(metrics)
    return {
        "axis": axis,
        "panels": [figure(svg) for metric, svg in drawn.panels.items() if metric in first],
        "more": [figure(svg) for metric, svg in drawn.panels.items() if metric not in first],
        "more_names": [metric for metric in metrics if metric not in first],
        "groups_left_out": drawn.groups_left_out,
        "systems_left_out": drawn.systems_left_out,
        "systems": systems,
        "metrics": list(metrics),
        "rows": [
            {**row, "name": group_label(row["group"]) if axis == "size" else value_of(row["group"])} for row in table
        ],
    }


def one_a_family(metrics: Sequence[str]) -> list[str]:
    """The first cutoff of each metric: Recall@10 stands for Recall@20 and Recall@50 until the reader asks for them."""
    first: dict[str, str] = {}
    for metric in metrics:
        first.setdefault(metric.split("@")[0], metric)
    return list(first.values())


def provenance_section(runs: Mapping[str, Mapping[str, Any]]) -> Section:
    """What produced the numbers. runs: a heading (empty for a single run) -> the run's provenance."""
    return Section(
        "provenance",
        "Provenance",
        "provenance.html.j2",
        {"runs": [{"heading": heading, "facts": list(_facts(p)), "json": _pretty(p)} for heading, p in runs.items()]},
    )


def _facts(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data, code = _mapping(provenance.get("data")), _mapping(provenance.get("code"))
    command = provenance.get("command")
    yield "Command", shlex.join(map(str, command)) if isinstance(command, list) else str(command or "not recorded")
    yield "Seed", str(provenance.get("seed", "not recorded"))
    yield "Data", str(data.get("name", "not recorded"))
    for title, key in (("Corpus hash", "corpus_hash"), ("Queries hash", "queries_hash")):
        if data.get(key):
            yield title, str(data[key])
    changed = {True: " with changes not committed", False: "", None: ""}[code.get("modified")]
    yield "Commit", f"{code.get('commit') or 'not a checkout'}{changed}"
    yield "Config hash", str(provenance.get("config_hash", "not recorded"))
    yield "Started, written", f"{provenance.get('started', '–')}, {provenance.get('written', '–')}"
    versions, machine = _mapping(provenance.get("versions")), _mapping(provenance.get("machine"))
    yield "Versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or "not recorded"
    yield "Machine", ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in machine.items()) or "not recorded"


def headline_groups(rows: Sequence[MetricRow]) -> list[str]:
    """`all`, `single` and `multi`, as far as there are rows."""
    there = {row.group for row in rows}
    return [group for group in ("all", *SIZES) if group in there]


def _pretty(provenance: Mapping[str, Any]) -> str:
    return json.dumps(provenance, indent=2, ensure_ascii=False, default=str)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
