"""SkillsBench task folders: an instruction, a task.toml and the skills of the task's environment."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from skillfit.data.queries import QuerySet
from skillfit.data.sources.base import Found, Source
from skillfit.data.sources.folders import fingerprint_folder, skill_files, skills_below, walk
from skillfit.errors import UserError
from skillfit.io.files import hash_file, hash_text
from skillfit.io.qrels import as_column
from skillfit.types import Query

SKILLS = Path("environment", "skills")
NAMESPACE = "skillsbench"


class SkillsBenchSource(Source):
    """One query a task, which requires the skills in its own folder; ids are `skillsbench/<task>/<name>`."""

    name = "skillsbench"
    looks_for = "task folders with instruction.md and environment/"
    precedence = 25
    needs_folder = True
    unknown = "drop"

    @classmethod
    def fits(cls, path: Path) -> bool:
        """At least one task is there."""
        return path.is_dir() and bool(_tasks(path))

    def items(self) -> Iterator[Found]:
        """One item a SKILL.md of a task."""
        for task in self._need():
            inside = "" if task == self.path else f"{task.name}/"
            for found in skills_below(task / SKILLS, f"{NAMESPACE}/{task.resolve().name}", self.options):
                yield replace(found, path=f"{inside}{SKILLS.as_posix()}/{found.path}")

    def queries(self) -> QuerySet:
        """One query a task. A task without skills says nothing about which it needs, so it is unjudged."""
        queries, required = [], {}
        for task in self._need():
            query_id = as_column(task.resolve().name, task)
            file = task / "instruction.md"
            text = file.read_text(encoding="utf-8", errors="replace").strip()
            if not text:
                raise UserError(file, fix="is empty; a task needs an instruction")
            queries.append(Query(query_id, text, _groups(task / "task.toml")))
            skills = _skill_ids(task / SKILLS, f"{NAMESPACE}/{query_id}", nested=self.options.nested == "load")
            if skills:
                required[query_id] = skills
        counts = {"without_skills": len(queries) - len(required)} if len(required) < len(queries) else {}
        return QuerySet(tuple(queries), required, counts=counts)

    def fingerprint(self) -> str:
        """Instructions, settings and skills of all tasks."""
        parts = []
        for task in self._need():
            files = [file for file in (task / "instruction.md", task / "task.toml") if file.is_file()]
            parts += [task.resolve().name, *map(hash_file, files), fingerprint_folder(task / SKILLS, self.options)]
        return hash_text(*parts)

    def _need(self) -> list[Path]:
        tasks = _tasks(self.path)
        if not tasks:
            raise UserError(self.path, fix=f"holds no {self.looks_for}")
        return tasks


def _tasks(path: Path) -> list[Path]:
    """The path itself if it is a task, or the tasks directly in it."""
    if _is_task(path):
        return [path]
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and _is_task(folder))


def _is_task(folder: Path) -> bool:
    return (folder / "instruction.md").is_file() and (folder / "environment").is_dir()


def _skill_ids(folder: Path, namespace: str, *, nested: bool) -> frozenset[str]:
    found: list[str] = []
    for place, folders, _ in walk(folder):
        if skill_files(Path(place)):
            found.append(Path(namespace, Path(place).relative_to(folder)).as_posix())
            if not nested:
                folders.clear()
    return frozenset(found)


def _groups(file: Path) -> dict[str, str]:
    """Difficulty and category of a task.toml, the category under the axis `domain`."""
    if not file.is_file():
        return {}
    try:
        metadata = tomllib.loads(file.read_text(encoding="utf-8")).get("metadata", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(file, fix=f"is not valid TOML ({error})") from error
    if not isinstance(metadata, dict):
        raise UserError(file, "metadata", metadata, "expected a table")
    axes = {"difficulty": metadata.get("difficulty"), "domain": metadata.get("category")}
    return {axis: str(value) for axis, value in axes.items() if value}
