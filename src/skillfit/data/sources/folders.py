"""Folders of SKILL.md files, at any depth."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from skillfit.data.frontmatter import Note
from skillfit.data.options import ImportOptions
from skillfit.data.records import id_problem
from skillfit.data.skill_md import parse_skill_md
from skillfit.data.sources.base import Found, Source
from skillfit.io.files import hash_file, hash_text
from skillfit.types import Skill

MIB = 1024 * 1024


class FolderSource(Source):
    """Every SKILL.md below a folder; ids are `<namespace>/<path of its folder>`.

    Hidden folders are not searched and links are not followed. A SKILL.md inside another skill's folder is one of that
    skill's files; `nested=load` takes it for a skill of its own.
    """

    name = "folders"
    looks_for = "a SKILL.md in the folder or anywhere below it (hidden folders are not searched)"
    precedence = 90

    @classmethod
    def fits(cls, path: Path) -> bool:
        """A SKILL.md itself, or a folder with one somewhere below."""
        if path.is_file():
            return path.name.lower() == "skill.md"
        return any(skill_files(Path(folder)) for folder, _, _ in walk(path))

    def items(self) -> Iterator[Found]:
        """One item a SKILL.md, in order of path."""
        root = self._root()
        space = self.options.namespace
        yield from skills_below(root, root.resolve().name if space is None else space, self.options)

    def fingerprint(self) -> str:
        """The content of each SKILL.md and the names of all files, which become the skills' `files`."""
        return hash_text(self._root().resolve().name, fingerprint_folder(self._root(), self.options))

    def _root(self) -> Path:
        return self.path.parent if self.path.is_file() else self.path


def skills_below(root: Path, namespace: str, options: ImportOptions) -> Iterator[Found]:
    """The skills in a folder and below it, and what could not be searched; places are relative to `root`."""
    owners: dict[Path, str] = {}  # folder -> the folder of the skill it lies in
    closed: list[Found] = []

    def note_unreadable(error: OSError) -> None:
        place = _place(root, Path(error.filename))
        closed.append(Found.skipped(place, Note("unreadable", f"the folder cannot be searched ({error.strerror})")))

    for name, folders, files in walk(root, note_unreadable):
        folder = Path(name)
        owner, taken = owners.get(folder, ""), False
        for file in skill_files(folder):
            found = _one(root, folder / file, namespace, options, owner=owner, taken=taken)
            taken = taken or found.status != "skipped"
            yield found
        inner = _place(root, folder) if taken else owner
        if inner:
            owners.update((folder / sub, inner) for sub in folders)
        else:
            yield from (_linked(root, folder / entry) for entry in files if (folder / entry).is_dir())
        yield from closed
        closed.clear()


def walk(root: Path, onerror: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """`os.walk` in order of name, without hidden folders; linked folders come among the files and are not entered."""
    for folder, folders, files in os.walk(root, onerror=onerror):
        visible = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in visible if not Path(folder, name).is_symlink()]
        linked = [name for name in visible if name not in set(folders)]
        yield folder, folders, sorted([*files, *linked])


def skill_files(folder: Path) -> list[str]:
    """Everything in a folder that is called SKILL.md in any case, whatever it is; SKILL.md itself first."""
    try:
        names = [entry.name for entry in folder.iterdir() if entry.name.lower() == "skill.md"]
    except OSError:
        return []
    return sorted(names, key=lambda name: (name != "SKILL.md", name))


def fingerprint_folder(root: Path, options: ImportOptions) -> str:
    """A hash of every readable SKILL.md within the size limit and of all file names below a folder."""
    parts = []
    for name, _, files in walk(root):
        for entry in sorted({*files, *skill_files(Path(name))}):
            file = Path(name, entry)
            parts.append(_place(root, file))
            if entry.lower() == "skill.md":
                problem = _unreadable(file, options)
                parts.append(str(problem) if problem else hash_file(file))
    return hash_text(*parts)


def _one(root: Path, file: Path, namespace: str, options: ImportOptions, *, owner: str, taken: bool) -> Found:
    place = _place(root, file)
    if owner and options.nested == "skip":
        reason = f"lies inside the skill {owner}, so it is one of its files; nested=load takes it for a skill"
        return Found.skipped(place, Note("nested", reason))
    if taken:
        return Found.skipped(place, Note("file_name_case", "another SKILL.md of the same folder was used"))
    relative = "" if file.parent == root else file.parent.relative_to(root).as_posix()
    skill_id = "/".join(part for part in (namespace, relative) if part) or root.resolve().name
    problem = _unreadable(file, options) or id_problem(skill_id)
    if problem:
        return Found.skipped(place, problem)
    try:
        data = file.read_bytes()
    except OSError as error:
        return Found.skipped(place, Note("unreadable", str(error.strerror)))
    folder = file.parent.name or file.parent.resolve().name
    parsed = parse_skill_md(data, folder=folder, file_name=file.name)
    if parsed.skip:
        return Found.skipped(place, parsed.skip)
    skill = Skill(
        skill_id,
        parsed.name,
        parsed.description,
        parsed.body,
        license=parsed.license,
        files=tuple(_bundled(file, options)),
        extra=parsed.extra,
    )
    return Found(place, "repaired" if parsed.repairs else "loaded", skill, parsed.notes)


def _unreadable(file: Path, options: ImportOptions) -> Note | None:
    """Why a SKILL.md is not read, None for a regular file within the size limit."""
    try:
        if file.is_symlink():
            return Note("link", "links are not followed; import the place it leads to")
        info = file.stat()
        if not os.access(file, os.R_OK):
            return Note("unreadable", "no permission to read it")
    except OSError as error:
        return Note("unreadable", str(error.strerror))
    if not stat.S_ISREG(info.st_mode):
        return Note("not_a_file", "a folder or device has this name")
    if info.st_size > options.max_bytes:
        size = f"{info.st_size / MIB:.1f} MiB (limit {options.max_mib:g} MiB)"
        return Note("too_large", f"{size}; max_mib raises the limit")
    return None


def _linked(root: Path, folder: Path) -> Found:
    reason = "links are not followed, so the folder was not searched; import the place it leads to"
    return Found.skipped(_place(root, folder), Note("link", reason))


def _bundled(skill_file: Path, options: ImportOptions) -> Iterator[str]:
    """The other files of a skill, relative to its folder; those of skills nested in it only where they are its own."""
    base = skill_file.parent
    for name, folders, files in walk(base):
        if options.nested == "load":
            folders[:] = [sub for sub in folders if not skill_files(Path(name, sub))]
        for entry in files:
            file = Path(name, entry)
            if file != skill_file and not file.is_symlink() and not entry.startswith("."):
                yield _place(base, file)


def _place(root: Path, path: Path) -> str:
    """A path relative to the root as text; bytes of a name that are no UTF-8 become U+FFFD."""
    return os.fsencode(path.relative_to(root).as_posix()).decode(errors="replace")
