"""Where skills come from: one module a format, and the choice of the right one for a path."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from skillfit.data.options import ImportOptions
from skillfit.data.sources.base import Found, Source
from skillfit.errors import UserError, suggest

__all__ = ["Found", "Source", "formats", "open_source"]


def formats() -> dict[str, type[Source]]:
    """Every format by name, in the order in which they are tried."""
    found: list[type[Source]] = []
    for module in iter_modules(__path__):
        members = vars(import_module(f"{__name__}.{module.name}")).values()
        found += [m for m in members if isinstance(m, type) and issubclass(m, Source) and "name" in vars(m)]
    return {source.name: source for source in sorted(set(found), key=lambda source: source.precedence)}


def open_source(path: str | Path, options: ImportOptions) -> Source:
    """The source at a path, in the format that `options.format` names or that fits.

    Raises UserError if nothing is there, the format is unknown, or no format fits; it says what was looked for.
    """
    place = Path(path)
    if not place.exists():
        fix = "no such file or folder; check the path (data sets on a hub are imported from a downloaded folder)"
        raise UserError(path, fix=fix)
    if not place.is_dir() and not place.is_file():
        raise UserError(path, fix="is a device, pipe or socket; give a file or a folder")
    if place.is_dir() and not os.access(place, os.R_OK | os.X_OK):
        raise UserError(path, fix="is a folder that may not be searched; check its permissions")
    known = formats()
    if options.format != "auto":
        if options.format not in known:
            raise UserError("import", "format", options.format, suggest(options.format, [*known, "auto"]))
        chosen = known[options.format]
        if chosen.needs_folder and not place.is_dir():
            raise UserError(path, fix=f"is no folder; format={chosen.name} needs {chosen.looks_for}")
        return chosen(place, options)
    for source in known.values():
        if _fits(source, place):
            return source(place, options)
    script = _loading_script(place)
    if script:
        fix = f"is a data set made by the script {script}, and no script is run; import its JSONL or Parquet files"
        raise UserError(path, fix=fix)
    wanted = "; ".join(f"{name}: {source.looks_for}" for name, source in known.items())
    raise UserError(path, fix=f"holds nothing that can be imported. Looked for {wanted}. Or say which with format=NAME")


def _fits(source: type[Source], path: Path) -> bool:
    """Whether the format fits; one that stumbles over a part it may not read does not, and another one may skip it."""
    try:
        return source.fits(path)
    except OSError:
        return False


def _loading_script(path: Path) -> str:
    """The name of the script that builds a data set, where that is all a folder holds; "" otherwise."""
    for file in sorted(path.glob("*.py")) if path.is_dir() else ():
        if "DatasetBuilder" in (text := file.read_text(encoding="utf-8", errors="replace")) or "BasedBuilder" in text:
            return file.name
    return ""
