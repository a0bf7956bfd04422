"""A dict record, from a JSON line or a table row, as a Skill."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from skillfit.data.frontmatter import Note
from skillfit.data.skill_md import ParsedSkill, parse_skill_md
from skillfit.data.sources.base import Found
from skillfit.errors import UserError
from skillfit.io.qrels import as_column
from skillfit.types import Skill

IDS = ("skill_id", "id", "_id")
BODIES = ("body", "content", "skill_md", "text")
LICENSES = ("license", "github_license")
SOURCES = ("source", "source_repo", "repo", "source_url")


def skill_from_record(record: dict[str, Any], path: str, *, repairs: Iterable[Note] = ()) -> Found:
    """The skill a record describes; fields are found by name, everything else is kept under `extra`.

    path: where the record stands, for the report. Never raises: a record without a usable id or text is skipped with
    the reason.
    """
    notes, rest = list(repairs), dict(record)
    skill_id, problem = _skill_id(rest)
    if problem:
        return Found.skipped(path, problem)
    values: dict[str, str] = {}
    for target, names in (("name", ("name",)), ("description", ("description",)), ("license", LICENSES)):
        values[target] = _take(rest, names, target, notes)
    values["source"] = _take(rest, SOURCES, "source", notes)
    body, parsed = _body(rest, values, skill_id, notes)
    if not any(values[key].strip() for key in ("name", "description")) and not body.strip():
        return Found.skipped(path, Note("no_usable_text", "neither a name nor a description nor a body"))
    files = rest.pop("files") if _is_paths(rest.get("files")) else []
    extra, changed = _clean(dict(parsed.extra) | rest if parsed else rest)
    if changed:
        notes.append(Note("lone_surrogate", "half a character in a further field was replaced by ?"))
    notices = _notices(values, body)
    skill = Skill(skill_id, values["name"], values["description"], body, values["license"], values["source"],
                  tuple(_clean(files)[0]), extra)  # fmt: skip
    return Found(path, "repaired" if notes else "loaded", skill, (*notes, *notices))


def parse_json_record(text: str) -> tuple[dict[str, Any], list[Note]]:
    """One JSON object; a number no float holds becomes null and of a name given twice the last value stays, noted.

    Raises ValueError for text that is no JSON object.
    """
    notes: dict[str, Note] = {}

    def constant(name: str) -> None:
        notes["not_a_number"] = Note("not_a_number", f"{name[:20]} is not a finite number; taken as null")

    def number(text: str) -> float | None:
        value = float(text)
        if math.isfinite(value):
            return value
        constant(text)
        return None

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            notes["duplicate_key"] = Note("duplicate_key", f"`{twice}` is given twice; the last value is kept")
        return made

    try:
        record = json.loads(text, parse_constant=constant, parse_float=number, object_pairs_hook=pairs)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(record, dict):
        raise ValueError(f"holds a JSON {type(record).__name__}; an object is expected")
    return record, list(notes.values())


def as_text(value: Any) -> tuple[str, bool]:
    """A field's value as text, and whether that changed its form; None is "", a list of words is joined by commas."""
    if value is None:
        return "", False
    if isinstance(value, str):
        return value, False
    if isinstance(value, bool):
        return str(value).lower(), True
    if isinstance(value, int | float):
        return str(value), True
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value), True
    return json.dumps(value, ensure_ascii=False, default=str), True


def id_problem(skill_id: str) -> Note | None:
    """Why an id cannot stand in a column of a qrels or run file, None if it can."""
    try:
        as_column(skill_id, "")
        skill_id.encode()
    except UserError:
        return Note("bad_id", f"{skill_id!r} has outer blanks, a tab or a line end")
    except UnicodeEncodeError:
        return Note("bad_id", f"{skill_id!r} is not valid Unicode")
    return None


def _skill_id(rest: dict[str, Any]) -> tuple[str, Note | None]:
    name = next((name for name in IDS if name in rest), None)
    if name is None:
        return "", Note("no_id", f"none of {', '.join(IDS)}; fields there are: {', '.join(rest) or '(none)'}")
    value = rest.pop(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        return "", Note("bad_id", f"`{name}` is {value!r}; give non-empty text")
    return value, id_problem(value)


def _take(rest: dict[str, Any], names: tuple[str, ...], target: str, notes: list[Note]) -> str:
    """The first of the named fields that is there and not null, as text; it leaves `rest`."""
    name = next((name for name in names if rest.get(name) is not None), None)
    text, changed = as_text(rest.pop(name)) if name else ("", False)
    for spare in names:
        if spare in rest and rest[spare] is None:
            del rest[spare]
    if changed:
        notes.append(Note(f"{target}_not_string", f"`{name}` is no text; taken as {text[:80]!r}"))
    clean, replaced = _clean(text)
    if replaced:
        notes.append(Note("lone_surrogate", f"half a character in `{name}` was replaced by ?"))
    return str(clean)


def _body(
    rest: dict[str, Any], values: dict[str, str], skill_id: str, notes: list[Note]
) -> tuple[str, ParsedSkill | None]:
    """The body; a whole SKILL.md is parsed, and gives the name and description that the record itself lacks."""
    key = next((name for name in BODIES if rest.get(name) is not None), "")
    text = _take(rest, BODIES, "body", notes)
    if key == "body" and isinstance(rest.get("skill_md"), str) and text.strip() in rest["skill_md"]:
        del rest["skill_md"]  # the same text again, with the frontmatter the fields were taken from
    whole = key == "skill_md" or (key != "body" and not values["name"] and text.lstrip("\ufeff\n\r ").startswith("---"))
    if not whole:
        return text.replace("\r\n", "\n").replace("\r", "\n"), None
    parsed = parse_skill_md(text, folder=skill_id.rsplit("/", 1)[-1])
    if parsed.skip:
        return parsed.body, None
    notes += [note for note in parsed.repairs if not (note.code == "no_name" and values["name"])]
    for name in ("name", "description", "license"):
        values[name] = values[name] or getattr(parsed, name)
    return parsed.body, parsed


def _notices(values: dict[str, str], body: str) -> list[Note]:
    empty = [key for key in ("name", "description") if not values[key].strip()]
    notes = [Note(f"no_{key}", "empty or missing") for key in empty]
    return notes if body.strip() else [*notes, Note("no_body", "empty or missing")]


def _is_paths(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _clean(value: Any) -> tuple[Any, bool]:
    """The same value with half surrogate pairs, which have no UTF-8 form, replaced; and whether there were any."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace").decode(), True
        return value, False
    if isinstance(value, dict):
        keys, items = [_clean(key) for key in value], [_clean(item) for item in value.values()]
        pairs = zip((k for k, _ in keys), (v for v, _ in items), strict=True)
        return dict(pairs), any(flag for _, flag in keys + items)
    if isinstance(value, list | tuple):
        done = [_clean(item) for item in value]
        return [item for item, _ in done], any(flag for _, flag in done)
    return value, False
