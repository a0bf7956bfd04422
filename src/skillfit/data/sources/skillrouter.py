"""SkillRouter's evaluation data: tasks.jsonl, relevance.json and a pool for each tier (release of arXiv 2603.22455)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillfit.data.queries import QuerySet, read_queries, skill_list
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.jsonl import hash_files, shards, skills_in
from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.io.jsonl import read_json
from skillfit.io.qrels import parse_grade

UNSCORED = "generic_only"  # tasks that any office skill serves: the release leaves them out of scoring
LISTS = {"core": "core_gt_ids", "all": "gt_skill_ids"}


class SkillRouterSource(Source):
    """One tier's pool with the 87 tasks, of which 75 are scored against the core ground truth."""

    name = "skillrouter"
    looks_for = "tasks.jsonl and relevance.json with easy/ or hard/"
    precedence = 20
    needs_folder = True
    unknown = "drop"

    @classmethod
    def fits(cls, path: Path) -> bool:
        """Tasks and relevance are there."""
        return (path / "tasks.jsonl").is_file() and (path / "relevance.json").is_file()

    def items(self) -> Iterator[Found]:
        """One item a record of the tier's shards."""
        for file in self._shards():
            yield from skills_in(file, f"{self.options.tier}/{file.name}", self.options.max_bytes)

    def queries(self) -> QuerySet:
        """The tasks: required skills by `ground_truth`, grades as released; degraded copies carry grade 1."""
        table = read_queries(self.path / "tasks.jsonl")
        place = self.path / "relevance.json"
        relevance = read_json(place)
        if not isinstance(relevance, dict):
            raise UserError(place, fix="expected an object that maps each task_id to its relevance")
        counts: Counter[str] = Counter()
        queries, required, grades, unscored = [], {}, {}, set()
        for query in table.queries:
            entry = relevance.get(query.query_id)
            if entry is None:
                counts["without_relevance"] += 1
                queries.append(query)
                continue
            where = f"{place}: task {query.query_id}"
            task_type = str(entry.get("task_type", "")) if isinstance(entry, dict) else ""
            queries.append(replace(query, groups={**query.groups, "task_type": task_type}) if task_type else query)
            right, graded = _judgements(entry, LISTS[self.options.ground_truth], where)
            if task_type == UNSCORED:
                unscored.add(query.query_id)
            else:
                required[query.query_id], grades[query.query_id] = right, graded
        counts["judged_without_task"] = len(set(relevance) - {query.query_id for query in queries})
        kept = {name: count for name, count in sorted(counts.items()) if count}
        return QuerySet(tuple(queries), required, grades, frozenset(unscored), kept)

    def fingerprint(self) -> str:
        """Tasks, relevance and the tier's shards."""
        own = [self.path / "tasks.jsonl", self.path / "relevance.json"]
        return hash_text(self.options.tier, hash_files([*own, *self._shards()]))

    def _shards(self) -> list[Path]:
        folder = self.path / self.options.tier
        files = shards(folder) if folder.is_dir() else []
        if not files:
            there = ", ".join(sorted(f.name for f in self.path.iterdir() if f.is_dir())) or "none"
            fix = f"holds no .jsonl or .jsonl.gz shard; folders there are: {there}; choose with tier=easy or tier=hard"
            raise UserError(folder, fix=fix)
        return files


def _judgements(entry: Any, name: str, place: str) -> tuple[frozenset[str], dict[str, int]]:
    if not isinstance(entry, dict):
        raise UserError(place, fix="expected an object with gt_skill_ids, core_gt_ids and relevance")
    if name not in entry:
        raise UserError(place, name, fix="is missing")
    relevance: Mapping[str, Any] = entry.get("relevance") or {}
    if not isinstance(relevance, dict):
        raise UserError(place, "relevance", relevance, "expected an object that maps skill ids to grades")
    grades = {skill: parse_grade(grade, f"{place}: {skill}") for skill, grade in relevance.items()}
    return skill_list(entry[name], name, place), grades
