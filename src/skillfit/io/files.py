"""Files and folders that appear whole or not at all, and hashes of their content."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from skillfit.errors import UserError


@contextmanager
def atomic_write(path: Path | str, mode: str = "w") -> Iterator[IO[str]]:
    """Open a temporary file beside `path` and rename it there on success; on failure `path` is left as it was.

    mode: "w" (UTF-8, LF) or "wb". Raises UserError if the folder cannot be written.
    """
    target = Path(path)
    if target.is_dir():
        raise UserError(target, fix="is a folder; name a file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise UserError(target, "cannot write", error.strerror, "choose a folder that can be written") from error
    text = "b" not in mode
    try:
        with os.fdopen(fd, mode, encoding="utf-8" if text else None, newline="\n" if text else None) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_dir(path: Path | str) -> Iterator[Path]:
    """Yield a temporary folder beside `path` and rename it there on success; an interrupted one is never seen.

    Raises UserError if `path` exists and is not an empty folder.
    """
    target = Path(path)
    refuse_nonempty(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise UserError(target, "cannot write", error.strerror, "choose a folder that can be written") from error
    try:
        yield work
        work.chmod(0o777 & ~_umask())
        try:
            work.replace(target)  # replaces an empty folder, fails on one that was filled meanwhile
        except OSError as error:
            raise UserError(target, fix="was filled by another process meanwhile; choose another folder") from error
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def refuse_nonempty(path: Path) -> None:
    """Raise UserError if `path` exists and is anything but an empty folder: results are never overwritten."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(path, fix="exists and is not an empty folder; choose another or remove it")


def hash_text(*parts: str) -> str:
    """SHA-256 (hex) of texts, each prefixed with its length so that ("ab", "c") differs from ("a", "bc")."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def hash_paths(paths: Iterable[Path], *, root: Path | None = None) -> str:
    """SHA-256 (hex) over the content of files and their names relative to `root` (their bare names without one).

    A folder stands for all files below it; hidden entries and links are left out. Raises UserError for a path that is
    not there: its hash would be that of nothing.
    """
    digest = hashlib.sha256()
    for path in paths:
        if not path.exists():
            raise UserError(path, fix="no such file or folder; check the path")
        base = root or (path if path.is_dir() else path.parent)
        for file in _files_below(path):
            digest.update(hash_text(file.relative_to(base).as_posix()).encode())
            digest.update(hash_file(file).encode())
    return digest.hexdigest()


def hash_file(path: Path) -> str:
    """SHA-256 (hex) of one file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if not name.startswith(".") and file.is_file() and not file.is_symlink():
                yield file


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
