"""One SKILL.md as data: name, description, body, other keys, and everything that was odd about the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skillfit.data.frontmatter import Frontmatter, Note, Parts, take_apart

NAME_LIMIT, DESCRIPTION_LIMIT = 64, 1_024  # of the agent-skills format; longer texts are kept whole, with a notice
_NAME_FORM = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_PLACEHOLDER = re.compile(r"\[?(?:TODO|TBD|FIXME)\b")


@dataclass(frozen=True, slots=True)
class ParsedSkill:
    """What a SKILL.md says. repairs: what was changed or derived; notices: what is odd but was kept as written.

    skip: why the file holds no skill, None where it does. extra: the other frontmatter keys, scalars as written.
    """

    name: str
    description: str
    body: str
    license: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    repairs: tuple[Note, ...] = ()
    notices: tuple[Note, ...] = ()
    skip: Note | None = None

    @property
    def status(self) -> str:
        """`skipped`, `repaired` or `loaded`."""
        return "skipped" if self.skip else "repaired" if self.repairs else "loaded"

    @property
    def reason(self) -> str:
        """Everything worth saying about the file in one line, "" for a plain one."""
        return "; ".join(map(str, self.notes))

    @property
    def notes(self) -> tuple[Note, ...]:
        """The reason of a skip, or repairs before notices."""
        return (self.skip,) if self.skip else (*self.repairs, *self.notices)


def parse_skill_md(data: bytes | str, *, folder: str, file_name: str = "SKILL.md") -> ParsedSkill:
    """Read a SKILL.md; nothing in it is executed or constructed, and no content raises.

    folder: the name of the folder it lies in, which stands in for a missing name. file_name: as it is on disk.
    """
    text, repairs, notices = _decode(data)
    if not text.strip():
        return ParsedSkill("", "", "", skip=Note("no_usable_text", "the file is empty"))
    parts = take_apart(text)
    if parts.frontmatter is None:
        skip = _no_skill(parts.body, file_name)
        if skip:
            return ParsedSkill("", "", parts.body, skip=skip)
    if file_name != "SKILL.md":
        repairs.append(Note("file_name_case", f"the file is called {file_name}; agents look for SKILL.md"))
    repairs += parts.repairs
    notices += parts.notices
    keys = parts.frontmatter or Frontmatter()
    name = _name(keys, folder, repairs, notices)
    description = _text(keys, "description", repairs, notices)
    license_text = _text(keys, "license", repairs, notices)
    if keys.values and not description:
        notices.append(Note("no_description", f"no text in `description`; keys there are: {', '.join(keys.values)}"))
    notices += _form(name, description, parts.body, folder)
    return ParsedSkill(name, description, parts.body, license_text, _extra(keys, parts), tuple(repairs), tuple(notices))


def _decode(data: bytes | str) -> tuple[str, list[Note], list[Note]]:
    """The text with LF line ends, and what had to be done for it."""
    repairs: list[Note] = []
    notices: list[Note] = []
    text = data if isinstance(data, str) else _from_bytes(data, repairs)
    if text.startswith("\ufeff"):
        text = text[1:]
        repairs.append(Note("bom", "a byte order mark stood before the text"))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        notices.append(Note("crlf", "line ends were CR or CRLF"))
    clean = text.encode("utf-8", "replace").decode() if _has_surrogates(text) else text
    if clean != text:
        repairs.append(Note("lone_surrogate", "half a character was replaced by ?"))
    return clean, repairs, notices


def _from_bytes(data: bytes, repairs: list[Note]) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        repairs.append(Note("utf16", "the file is UTF-16; UTF-8 is expected"))
        return data.decode("utf-16", "replace")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02X} at offset {error.start}"
        repairs.append(Note("not_utf8", f"{where} is not UTF-8; decoded with replacement characters"))
        return data.decode(errors="replace")


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _no_skill(body: str, file_name: str) -> Note | None:
    if file_name != "SKILL.md":
        return Note("not_a_skill", f"{file_name} has no frontmatter")
    if len(body.split()) < 2:
        return Note("no_usable_text", f"no frontmatter and only {body[:80]!r}")
    return None


def _name(keys: Frontmatter, folder: str, repairs: list[Note], notices: list[Note]) -> str:
    key = _find(keys, "name", repairs, notices)
    kind = keys.kinds.get(key, "null")
    if kind in ("mapping", "list"):
        repairs.append(Note("name_not_string", f"`name` holds a {kind}; {folder!r} is taken from the folder"))
        return folder
    name = "" if kind == "null" else " ".join(keys.joined[key].split())
    if not name:
        repairs.append(Note("no_name", f"no text in `name`; {folder!r} is taken from the folder"))
        return folder
    _note_kind("name", kind, name, notices)
    return name


def _text(keys: Frontmatter, wanted: str, repairs: list[Note], notices: list[Note]) -> str:
    """A key's value as text: collections joined, scalars as written, "" where there is none."""
    key = _find(keys, wanted, repairs, notices)
    kind = keys.kinds.get(key, "null")
    if kind == "null":
        return ""
    text = keys.joined[key]
    if kind in ("mapping", "list"):
        repairs.append(Note(f"{wanted}_not_string", f"`{wanted}` holds a {kind} for YAML; joined back to text"))
    else:
        _note_kind(wanted, kind, text, notices)
    return text


def _find(keys: Frontmatter, wanted: str, repairs: list[Note], notices: list[Note]) -> str:
    """The key as it is spelt in the file: the exact one, or one that differs in case only."""
    others = [key for key in keys.values if key.lower() == wanted and key != wanted]
    if wanted in keys.values:
        if others:
            notices.append(Note("key_case", f"`{others[0]}` stands beside `{wanted}`; `{wanted}` counts"))
        return wanted
    if others:
        repairs.append(Note("key_case", f"`{others[0]}` was read as `{wanted}`"))
        return others[0]
    return wanted


def _note_kind(key: str, kind: str, text: str, notices: list[Note]) -> None:
    if kind != "text":
        notices.append(Note("not_text", f"`{key}: {text}` is a {kind} for YAML; taken as written"))


def _form(name: str, description: str, body: str, folder: str) -> list[Note]:
    """Departures from the format's own rules; the texts stay as they are."""
    notes = []
    if len(name) > NAME_LIMIT:
        notes.append(Note("long_name", f"{len(name)} characters (limit {NAME_LIMIT}), kept whole"))
    if not _NAME_FORM.fullmatch(name):
        notes.append(Note("name_form", f"{name[:80]!r} is not lower-case letters, digits and single hyphens"))
    elif name != folder:
        notes.append(Note("name_not_folder", f"{name!r} lies in the folder {folder!r}"))
    if len(description) > DESCRIPTION_LIMIT:
        count = f"{len(description):,} characters (limit {DESCRIPTION_LIMIT:,})"
        notes.append(Note("long_description", f"{count}, kept whole"))
    if len(description.split()) == 1 and description.isascii():
        notes.append(Note("short_description", f"one word: {description[:80]!r}"))
    if _PLACEHOLDER.match(name) or _PLACEHOLDER.match(description):
        notes.append(Note("placeholder", "the text of a template was left in place"))
    if _CONTROL.search(name + description):
        notes.append(Note("control_characters", "name or description hold control characters, kept"))
    if not body:
        notes.append(Note("no_body", "nothing follows the frontmatter"))
    return notes


def _extra(keys: Frontmatter, parts: Parts) -> dict[str, Any]:
    used = {"name", "description", "license"}
    others = {key: value for key, value in keys.values.items() if key not in used}
    extra: dict[str, Any] = {"frontmatter_extra": others} if others else {}
    if parts.comment:
        extra["leading_comment"] = parts.comment
    return extra
