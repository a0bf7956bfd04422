"""Folders of SKILL.md files, at any depth."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skillfit.data.options import ImportOptions
from skillfit.data.records import id_problem
from skillfit.data.skill_md import parse_skill_md
from skillfit.data.sources.base import Found, Source
from skillfit.io.files import hash_text
from skillfit.types import Skill

MIB = 1024 * 1024


class FolderSource(Source):
    """Every SKILL.md below a folder; ids are `<namespace>/<path of its folder>`.

    Hidden folders are not searched and links are not followed. A SKILL.md inside another skill's folder is one of that
    skill's files; `nested=load` takes it for a skill of its own.
    """

    name = "folders"
    looks_for = "a SKILL.md in the folder or anywhere below it"
    precedence = 90

    @classmethod
    def fits(cls, path: Path) -> bool:
        """A SKILL.md itself, or a folder with one somewhere below."""
        if path.is_file():
            return path.name.lower() == "skill.md"
        return any(skill_files(Path(folder)) for folder, _, _ in walk(path))

    def items(self) -> Iterator[Found]:
        """One item a SKILL.md, in order of path."""
        root = self.path.parent if self.path.is_file() else self.path
        space = self.options.namespace
        yield from skills_below(root, root.resolve().name if space is None else space, self.options)

    def fingerprint(self) -> str:
        """The content of each SKILL.md and the names of all files, which become the skills' `files`."""
        root = self.path.parent if self.path.is_file() else self.path
        return hash_text(root.resolve().name, fingerprint_folder(root))


def skills_below(root: Path, namespace: str, options: ImportOptions) -> Iterator[Found]:
    """The skills in a folder and below it; places are relative to `root`."""
    owners: dict[str, str] = {}  # folder -> the folder of the skill it lies in, "" for none
    for folder, folders, _ in walk(root):
        relative = Path(folder).relative_to(root).as_posix()
        owner = owners.get(folder, "")
        taken = False
        for name in skill_files(Path(folder)):
            place = name if relative == "." else f"{relative}/{name}"
            if owner and options.nested == "skip":
                reason = f"nested: lies inside the skill {owner}, so it is one of its files; nested=load takes it"
                found = Found(_utf8(place), "skipped", reason=reason)
            elif taken:
                found = Found(_utf8(place), "skipped", reason="file_name_case: another SKILL.md in the folder was used")
            else:
                found = _read(root, place, namespace, options)
                taken = found.status != "skipped"
            yield found
        inner = _utf8(relative) if taken else owner
        owners.update({os.path.join(folder, name): inner for name in folders})  # noqa: PTH118  (walk's own keys)


def walk(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """`os.walk` in order of name, without hidden folders and links."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in folders if not Path(folder, name).is_symlink()]
        yield folder, folders, sorted(files)


def skill_files(folder: Path) -> list[str]:
    """Everything in a folder that is called SKILL.md in any case, whatever it is; SKILL.md itself first."""
    try:
        names = [name for name in os.listdir(folder) if name.lower() == "skill.md"]  # noqa: PTH208  (names only)
    except OSError:
        return []
    return sorted(names, key=lambda name: (name != "SKILL.md", name))


def fingerprint_folder(root: Path) -> str:
    """A hash of every SKILL.md and of all file names below a folder."""
    parts = []
    for folder, _, names in walk(root):
        for name in sorted({*names, *skill_files(Path(folder))}):
            file = Path(folder, name)
            parts.append(_utf8(file.relative_to(root).as_posix()))
            if name.lower() == "skill.md":
                data, problem = _bytes(file, None)
                parts.append(problem or hash_text(data.hex()))
    return hash_text(*parts)


def _read(root: Path, place: str, namespace: str, options: ImportOptions) -> Found:
    file = root / place
    data, problem = _bytes(file, options)
    if problem:
        return Found(_utf8(place), "skipped", reason=problem)
    relative = "" if file.parent == root else file.parent.relative_to(root).as_posix()
    skill_id = "/".join(part for part in (namespace, relative) if part) or root.resolve().name
    problem = id_problem(skill_id)
    if problem:
        return Found(_utf8(place), "skipped", reason=problem)
    folder = file.parent.name or file.parent.resolve().name
    parsed = parse_skill_md(data, folder=folder, file_name=file.name)
    if parsed.skip:
        return Found(place, "skipped", reason=parsed.skip)
    skill = Skill(skill_id, parsed.name, parsed.description, parsed.body, parsed.license, "",
                  tuple(_bundled(file, options)), parsed.extra)  # fmt: skip
    return Found(place, "repaired" if parsed.repairs else "loaded", skill, parsed.reason)


def _bytes(file: Path, options: ImportOptions | None) -> tuple[bytes, str]:
    """The content of a regular file within the size limit, or why it is not read."""
    try:
        if file.is_symlink():
            return b"", "link: links are not followed; import the folder it leads to"
        info = file.stat()
        if not stat.S_ISREG(info.st_mode):
            return b"", "not_a_file: a folder or device has this name"
        if options is not None and info.st_size > options.max_bytes:
            return (
                b"",
                f"too_large: {info.st_size / MIB:.1f} MiB (limit {options.max_mib:g} MiB); raise it with max_mib",
            )
        return file.read_bytes(), ""
    except OSError as error:
        return b"", f"unreadable: {error.strerror}"


def _bundled(skill_file: Path, options: ImportOptions) -> Iterator[str]:
    """The other files of a skill, relative to its folder; those of skills nested in it only where they are its own."""
    base = skill_file.parent
    for folder, folders, names in walk(base):
        if options.nested == "load":
            folders[:] = [name for name in folders if not skill_files(Path(folder, name))]
        for name in names:
            file = Path(folder, name)
            if file != skill_file and not file.is_symlink() and not name.startswith("."):
                yield _utf8(file.relative_to(base).as_posix())


def _utf8(text: str) -> str:
    """A path as text; bytes of a name that are no UTF-8 become U+FFFD."""
    return os.fsencode(text).decode(errors="replace")
