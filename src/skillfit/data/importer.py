"""Importing: sources of skills in, one checked folder out."""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillfit.data.copies import CopyFinder
from skillfit.data.corpus import Batcher, hash_row, hash_rows, row_of, schema, write_rows
from skillfit.data.native import CORPUS, MANIFEST, REPORT, load_imported, read_manifest, write_manifest, write_queries
from skillfit.data.options import ImportOptions
from skillfit.data.query_sets import join_queries
from skillfit.data.sources import Found, Source, open_source
from skillfit.errors import UserError
from skillfit.io.files import atomic_dir, hash_text, refuse_nonempty
from skillfit.io.jsonl import read_json, write_jsonl
from skillfit.progress import track
from skillfit.types import Skill

log = logging.getLogger(__name__)
IMPORTER_VERSION = 1  # raised whenever the same source and options would give another folder
DRAFT = "draft.arrow"
IMPORTED = "imported"  # the format of a folder that an import left
STALE_SECONDS = 24 * 3600  # after which what a killed import left in the cache is removed

__all__ = ["ImportOptions", "ImportSummary", "import_cached", "import_skills", "load_imported"]


@dataclass(frozen=True)
class ImportSummary:
    """What an import found. found = loaded + repaired + skipped; reasons: how many items carry each code."""

    path: Path
    found: int
    loaded: int
    repaired: int
    skipped: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    queries: Mapping[str, int] = field(default_factory=dict)
    copies: Mapping[str, int] = field(default_factory=dict)
    content_hash: str = ""

    @property
    def skills(self) -> int:
        """How many skills the corpus has."""
        return self.loaded + self.repaired

    def text(self) -> str:
        """The summary for a reader, one line a fact."""
        told = [f"{self.found} found: {self.loaded} loaded, {self.repaired} repaired, {self.skipped} skipped"]
        if self.reasons:
            common = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
            told.append("reported: " + ", ".join(f"{code} {count}" for code, count in common))
        if self.queries:
            told.append("queries: " + ", ".join(f"{name} {count}" for name, count in self.queries.items()))
        told.append("copies: " + ", ".join(f"{name} {count}" for name, count in self.copies.items()))
        return "\n".join(told)


@dataclass
class _Draft:
    """What the first pass over the sources leaves beside the draft file: the place and hash of every skill."""

    copies: CopyFinder
    places: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    first_skips: list[str] = field(default_factory=list)


def import_skills(
    sources: Sequence[str | Path], out: str | Path, options: ImportOptions | None = None
) -> ImportSummary:
    """Read skills, queries and judgements from sources into the new folder `out`, which appears only when complete.

    Bodies are streamed: memory grows with the number of skills and of their distinct word runs, not with the text.
    Raises UserError for a source that fits no format, an id that occurs twice, judged ids outside the corpus (unless
    dropped), no usable skill at all, or an `out` that is not empty.
    """
    chosen = options or ImportOptions()
    refuse_nonempty(Path(out))
    opened = _open(sources, chosen)
    source_hash = _source_hash(opened, chosen)
    with atomic_dir(out) as work:
        draft = _Draft(CopyFinder(chosen.near_copies))
        write_jsonl(work / REPORT, _first_pass(opened, work / DRAFT, draft))
        if not draft.places:
            raise UserError(", ".join(typed for typed, _ in opened), fix=_nothing(draft))
        copies = _second_pass(work, draft)
        tables = [(typed, source.queries(), chosen.unknown or source.unknown) for typed, source in opened]
        table, query_counts = join_queries(tables, draft.places)
        write_queries(work, table)
        if _source_hash(opened, chosen) != source_hash:
            raise UserError(", ".join(typed for typed, _ in opened), fix="changed while it was read; import it again")
        summary = ImportSummary(
            path=Path(out),
            found=draft.statuses.total(),
            loaded=draft.statuses["loaded"],
            repaired=draft.statuses["repaired"],
            skipped=draft.statuses["skipped"],
            reasons=dict(sorted(draft.reasons.items())),
            queries=query_counts,
            copies=copies,
            content_hash=hash_rows(draft.hashes.items()),
        )
        write_manifest(work, _facts(opened, chosen, source_hash, summary))
    log.info("%s", summary.text().replace("\n", "; "))
    return summary


def import_cached(sources: Sequence[str | Path], cache_dir: str | Path, options: ImportOptions | None = None) -> Path:
    """The imported folder of these sources under `<cache_dir>/imports/`, made now unless it is there already.

    The key is the content of the sources, the options and the importer's version, never a time or a size. A folder that
    is damaged is made again. The log says `reused` or `imported`, and why.
    """
    chosen = options or ImportOptions()
    opened = _open(sources, chosen)
    names = ", ".join(typed for typed, _ in opened)
    if len(opened) == 1 and opened[0][1].name == IMPORTED and chosen == ImportOptions(format=chosen.format):
        log.info("reused %s: it is an imported folder already", names)
        return opened[0][1].path
    folder = Path(cache_dir) / "imports" / _source_hash(opened, chosen)[:32]
    reason = _why_import(folder, [typed for typed, _ in opened], chosen)
    if not reason:
        log.info("reused the import of %s: same content, options and importer version (%s)", names, folder)
        return folder
    _sweep(folder.parent)
    if folder.exists():
        shutil.rmtree(folder)
    started = time.monotonic()
    try:
        import_skills(sources, folder, chosen)
    except UserError:
        if _why_import(folder, [], chosen):
            raise
        log.info("reused the import of %s: another process made it meanwhile (%s)", names, folder)
        return folder
    log.info("imported %s in %.1f s: %s (%s)", names, time.monotonic() - started, reason, folder)
    return folder


def _sweep(cache: Path) -> None:
    """Remove the unfinished folders of imports that were killed long ago."""
    for work in cache.glob(".*.part"):
        if time.time() - work.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(work, ignore_errors=True)


def _open(sources: Sequence[str | Path], options: ImportOptions) -> list[tuple[str, Source]]:
    if isinstance(sources, str | Path) or not sources:
        raise UserError("import", "source", sources, "give a list with at least one file or folder")
    return [(str(path), open_source(path, options)) for path in sources]


def _facts(
    opened: Sequence[tuple[str, Source]], options: ImportOptions, source_hash: str, summary: ImportSummary
) -> dict[str, Any]:
    """What the manifest tells; of this machine it holds the sources' paths as typed and nothing else."""
    counts = {name: getattr(summary, name) for name in ("found", "loaded", "repaired", "skipped", "skills")}
    return {
        "importer_version": IMPORTER_VERSION,
        "sources": [{"path": typed, "format": source.name} for typed, source in opened],
        "source_hash": source_hash,
        "options": _options(options),
        "content_hash": summary.content_hash,
        "counts": counts,
        "reasons": summary.reasons,
        "queries": summary.queries,
        "copies": summary.copies,
    }


def _first_pass(opened: Sequence[tuple[str, Source]], file: Path, draft: _Draft) -> Iterator[dict[str, Any]]:
    """Write the skills of all sources to the draft file in the order found, and yield the rows of the report."""
    import pyarrow as pa

    with pa.OSFile(str(file), "wb") as handle, pa.ipc.new_file(handle, schema()) as writer:
        batcher = Batcher(writer.write_batch)
        for typed, source in opened:
            for found in track(source.items(), f"importing {typed}"):
                path = found.path if len(opened) == 1 else _full_path(typed, source, found.path)
                _count(found, path, draft)
                if found.skill is not None:
                    batcher.add(_draft_row(found.skill, path, draft))
                skill_id = found.skill.skill_id if found.skill else None
                yield {"path": path, "status": found.status, "skill_id": skill_id, "reason": found.reason}
        batcher.flush()


def _full_path(typed: str, source: Source, path: str) -> str:
    """The path of an item after the source as the user typed it."""
    if source.path.is_file():
        return typed + path.removeprefix(source.path.name)
    return f"{typed.rstrip('/')}/{path}"


def _count(found: Found, path: str, draft: _Draft) -> None:
    draft.statuses[found.status] += 1
    draft.reasons.update({note.code for note in found.notes})
    if found.status == "skipped" and len(draft.first_skips) < 3:
        draft.first_skips.append(f"{path} ({found.reason})")


def _draft_row(skill: Skill, path: str, draft: _Draft) -> dict[str, Any]:
    if skill.skill_id in draft.places:
        first = draft.places[skill.skill_id]
        fix = f"is also the id of {first}; ids must differ: rename one, or import both from a folder above them"
        raise UserError(path, "skill_id", skill.skill_id, fix)
    row = row_of(skill)
    draft.places[skill.skill_id] = path
    draft.hashes[skill.skill_id] = hash_row(row)
    draft.copies.add(skill.skill_id, skill.body)
    return row


def _second_pass(work: Path, draft: _Draft) -> dict[str, int]:
    """Write the corpus from the draft, sorted by id and with its copies marked; remove the draft."""
    import pyarrow as pa

    groups = draft.copies.groups()
    near, pairs = draft.copies.near()
    order = sorted(range(len(draft.places)), key=list(draft.places).__getitem__)
    with pa.memory_map(str(work / DRAFT)) as mapped:
        reader = pa.ipc.open_file(mapped)
        parts = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        where = [(part, row) for part in parts for row in range(len(part))]

        def rows() -> Iterator[dict[str, Any]]:
            for position in order:
                part, row = where[position]
                made = part.slice(row, 1).to_pylist()[0]
                skill_id = made["skill_id"]
                yield {**made, "copy_group": groups.get(skill_id, ""), "near_copies": list(near.get(skill_id, ()))}

        write_rows(work / CORPUS, track(rows(), "writing the corpus", total=len(order)))
    (work / DRAFT).unlink()
    return {"groups": len(set(groups.values())), "skills_in_groups": len(groups), "near_pairs": pairs,
            "skills_with_near_copies": len(near)}  # fmt: skip


def _nothing(draft: _Draft) -> str:
    if not draft.statuses:
        return "holds no skill; the corpus would be empty"
    return f"no usable skill among the {draft.statuses.total()} found; the first: {'; '.join(draft.first_skips)}"


def _options(options: ImportOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in sorted(options.__dataclass_fields__)}


def _source_hash(opened: Sequence[tuple[str, Source]], options: ImportOptions) -> str:
    parts = [part for _, source in opened for part in (source.name, source.path.name, source.fingerprint())]
    return hash_text(str(IMPORTER_VERSION), json.dumps(_options(options), sort_keys=True), *parts)


def _why_import(folder: Path, typed: Sequence[str], options: ImportOptions) -> str:
    """Why there is nothing to reuse, "" if there is."""
    if folder.exists():
        try:
            read_manifest(folder)
        except UserError as error:
            return f"the earlier one is damaged ({error})"
        return ""
    for file in sorted(folder.parent.glob(f"[!.]*/{MANIFEST}")):
        try:
            old = read_json(file)
        except UserError:
            continue
        if isinstance(old, dict) and [s.get("path") for s in old.get("sources", [])] == list(typed):
            if old.get("importer_version") != IMPORTER_VERSION:
                return "the importer has changed"
            changed = [name for name, value in _options(options).items() if old.get("options", {}).get(name) != value]
            return f"other options than before: {', '.join(changed)}" if changed else "the content has changed"
    return "no import of these sources yet"
