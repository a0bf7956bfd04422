"""Run files: TREC runs and SkillRouter prediction JSON, in and out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from skillfit.errors import UserError
from skillfit.io.files import atomic_write
from skillfit.io.jsonl import read_json, read_lines, write_json
from skillfit.io.qrels import as_column
from skillfit.types import Run


def read_run(path: Path | str, *, allow_repeats: bool = False) -> Run:
    """A run from a TREC file (any suffix but .json) or a SkillRouter prediction file (.json).

    TREC: ordered by score descending, then skill_id ascending; the rank column is ignored. JSON: task_id -> ranked ids,
    as a list, as objects with `skill_id` (or `id`) and an optional `score`, or nested one level under `predictions`.
    allow_repeats keeps a skill listed twice in a prediction file. Raises UserError naming file, line and value.
    """
    file = Path(path).expanduser()
    if file.suffix.lower() == ".json":
        return _read_predictions(file, allow_repeats=allow_repeats)
    scores: dict[str, list[tuple[str, float]]] = {}
    for number, text in read_lines(file):
        columns = text.split("\t") if text.count("\t") >= 5 else text.split()
        if len(columns) != 6:
            raise UserError(f"{file}:{number}", "line", text, "expected six columns: query Q0 skill rank score tag")
        query_id, _, skill_id, _, score, _ = (c.strip() for c in columns)
        if not query_id or not skill_id:
            raise UserError(f"{file}:{number}", "line", text, "the query or the skill is empty")
        scores.setdefault(query_id, []).append((skill_id, _finite(score, f"{file}:{number}")))
    if not scores:
        raise UserError(file, fix="holds no line; a TREC run has six columns: query Q0 skill rank score tag")
    return Run.from_scores(scores, place=str(file))


def write_trec_run(path: Path | str, run: Run, *, tag: str) -> None:
    """Write a run as a TREC file in our order. Scores are printed so that reading them back gives the same floats.

    A query with an empty answer has no line, so it reads back as one without an answer. Raises UserError for an id or
    a tag that a column cannot hold.
    """
    with atomic_write(path) as handle:
        for query_id in sorted(run):
            ranking = run[query_id]
            for rank, (skill_id, score) in enumerate(zip(ranking.skill_ids, ranking.scores, strict=True), start=1):
                ids = f"{as_column(query_id, path)}\tQ0\t{as_column(skill_id, path)}"
                handle.write(f"{ids}\t{rank}\t{float(score)!r}\t{as_column(tag, path)}\n")


def write_predictions(path: Path | str, run: Run) -> None:
    """Write a run as SkillRouter prediction JSON: task_id -> ranked skill ids."""
    write_json(path, {query_id: list(run.ranked(query_id)) for query_id in sorted(run)})


def _read_predictions(file: Path, *, allow_repeats: bool) -> Run:
    data = read_json(file)
    if isinstance(data, dict) and isinstance(data.get("predictions"), dict):
        data = data["predictions"]
    if not isinstance(data, dict) or not data:
        raise UserError(file, fix="expected an object that maps each task_id to its ranked skill ids")
    order: dict[str, list[str]] = {}
    scores: dict[str, list[tuple[str, float]]] = {}
    for task_id, entries in data.items():
        rows = _entries(entries, f"{file}: task {as_column(task_id, file)}")
        scored = [skill_id for skill_id, score in rows if score is not None]
        if scored and len(scored) < len(rows):
            fix = f"has a score and {len(rows) - len(scored)} others have none; score all skills of a task or none"
            raise UserError(f"{file}: task {task_id}", "skill", scored[0], fix)
        if scored:
            scores[task_id] = [(skill_id, _finite(score, f"{file}: task {task_id}")) for skill_id, score in rows]
        else:
            order[task_id] = [skill_id for skill_id, _ in rows]
    ordered = Run.from_order(order, place=str(file), allow_repeats=allow_repeats)
    return Run({**ordered, **Run.from_scores(scores, place=str(file))})


def _entries(entries: Any, place: str) -> list[tuple[str, Any]]:
    if isinstance(entries, dict):
        for key in ("ranked", "ranking", "skill_ids", "predictions", "results"):
            if isinstance(entries.get(key), list):
                entries = entries[key]
                break
        else:
            entries = [{"skill_id": skill_id, "score": score} for skill_id, score in entries.items()]
    if not isinstance(entries, list):
        raise UserError(place, "value", entries, "expected a list of skill ids, best first")
    rows: list[tuple[str, Any]] = []
    for entry in entries:
        named = isinstance(entry, dict)
        skill_id = entry.get("skill_id", entry.get("id")) if named else entry
        if not isinstance(skill_id, str) or not skill_id:
            raise UserError(place, "skill id", skill_id, "ids are non-empty text")
        rows.append((as_column(skill_id, place), entry.get("score") if named else None))
    return rows


def _finite(value: Any, place: str) -> float:
    try:
        number = math.nan if "_" in str(value) else float(value)  # Python would read 1_0 as 10
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        raise UserError(place, "score", value, "give a finite number")
    return number
