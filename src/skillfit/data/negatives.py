"""Mined negatives as a file, and bound to training pairs."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as options_class

from skillfit.data.candidates import generator, shuffled
from skillfit.errors import UserError
from skillfit.io.files import atomic_dir, hash_file
from skillfit.io.jsonl import field as text_field
from skillfit.io.jsonl import read_json, read_jsonl, write_json, write_jsonl

if TYPE_CHECKING:
    from skillfit.data.examples import Pair, PairSet

log = logging.getLogger(__name__)
FORMAT, FORMAT_VERSION = "skillfit-negatives", 1
NEGATIVES, MANIFEST = "negatives.jsonl", "manifest.json"


@dataclass(frozen=True, slots=True)
class Negative:
    """A skill that is wrong for a query; rank and score are those of the run it came from, None for a random one."""

    skill_id: str
    kind: str
    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class MinedQuery:
    """The negatives of a query, hardest kind first; teacher: a reranker's scores by skill_id, where there are some."""

    query_id: str
    negatives: tuple[Negative, ...]
    teacher: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MinedNegatives(Mapping[str, tuple[str, ...]]):
    """query_id -> skill ids, as a mined file gives them; teacher: query_id -> skill_id -> score, where it has some."""

    negatives: Mapping[str, tuple[str, ...]]
    teacher: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, query_id: str) -> tuple[str, ...]:
        return self.negatives[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.negatives)

    def __len__(self) -> int:
        return len(self.negatives)


@options_class(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class NegativeOptions:
    """Which negatives a training pair has besides the rest of its batch.

    file: what `skillfit mine` left, or its negatives.jsonl. per_query: the most of the pair's own and the file's that a
    pair gets. random: further ones drawn from the whole pool by seed and query. short: what happens to pairs with less
    than `per_query` of a file: kept with `fewer`, `drop`ped or `pad`ded with random ones. shared: whether the negatives
    of one query also serve the other queries of the batch.
    """

    file: str | None = None
    per_query: int = Field(default=10, ge=1)
    random: int = Field(default=0, ge=0)
    short: Literal["fewer", "drop", "pad"] = "fewer"
    shared: bool = True


def write_mined(folder: Path | str, rows: Sequence[MinedQuery], facts: Mapping[str, Any]) -> None:
    """Write `negatives.jsonl` and `manifest.json` into a new folder that appears whole.

    facts: the manifest's further fields; read_mined asks for `corpus_hash`.
    """
    with atomic_dir(folder) as work:
        write_jsonl(work / NEGATIVES, map(_row, rows))
        told = {"format": FORMAT, "format_version": FORMAT_VERSION, **facts}
        write_json(work / MANIFEST, told | {"sha256": hash_file(work / NEGATIVES)})


def read_mined(path: Path | str, corpus_hash: str, *, known: Container[str] | None = None) -> MinedNegatives:
    """The negatives of a mined folder, or of a file like its negatives.jsonl (then the manifest is optional).

    corpus_hash: of the corpus that is trained on. known: its ids; others are refused. Raises UserError for negatives
    mined from another corpus, a file that was changed after mining, and with `file:line` for a malformed row, a skill
    that is not known or listed twice, and a query given twice.
    """
    file = Path(path) / NEGATIVES if Path(path).is_dir() else Path(path)
    manifest = _read_manifest(file, corpus_hash, required=Path(path).is_dir())
    negatives: dict[str, tuple[str, ...]] = {}
    teacher: dict[str, dict[str, float]] = {}
    for number, record in read_jsonl(file):
        place = f"{file}:{number}"
        query_id = text_field(record, ("query_id",), place)
        if query_id in negatives:
            raise UserError(place, "query_id", query_id, "was given before")
        negatives[query_id] = _skills(record, known, place)
        if scores := _teacher(record, known, place):
            teacher[query_id] = scores
    if not negatives:
        raise UserError(
            file, fix='holds no row; expected lines like {"query_id": "q1", "negatives": [{"skill_id": …}]}'
        )
    return MinedNegatives(negatives, teacher, manifest)


def attach(
    pairs: PairSet,
    mined: Mapping[str, tuple[str, ...]] | None,
    *,
    pool_ids: Sequence[str],
    per_query: int = 10,
    random: int = 0,
    short: Literal["fewer", "drop", "pad"] = "fewer",
    seed: int = 0,
    teacher: Mapping[str, Mapping[str, float]] | None = None,
) -> PairSet:
    """Give each pair the mined negatives of its query, behind those it has; never one of its own answers.

    The first `per_query` are kept, then `random` others of the pool are added. Without a mined file no pair is short.
    Draws depend on seed and query alone. The counts get `negatives_*` entries: full + short + dropped = pairs. Raises
    UserError if none of the pairs' queries was mined.
    """
    asked = {pair.query_id for pair in pairs.pairs}
    if mined is not None and not asked & set(mined):
        some = next(iter(mined), "(none)")
        raise UserError("negatives.file", "query ids", some, "none of them is a query of the training pairs")
    counts: Counter[str] = Counter({f"negatives_{name}": 0 for name in ("full", "padded", "short", "dropped")})
    made = []
    for pair in pairs.pairs:
        found = list(dict.fromkeys([*pair.negatives, *(mined or {}).get(pair.query_id, ())]))
        usable = [skill for skill in found if skill not in pair.answers and skill != pair.skill_id]
        counts["negatives_own_answers"] += len(found) - len(usable)
        counts["negatives_beyond_per_query"] += max(0, len(usable) - per_query)
        chosen = usable[:per_query]
        if mined is not None and len(chosen) < per_query and short == "pad":
            chosen += _others(pair, chosen, per_query - len(chosen), pool_ids, seed, "pad")
            counts["negatives_padded"] += len(chosen) == per_query
        if mined is not None and len(chosen) < per_query:
            counts["negatives_dropped" if short == "drop" else "negatives_short"] += 1
            if short == "drop":
                continue
        else:
            counts["negatives_full"] += 1
        chosen += _others(pair, chosen, random, pool_ids, seed, "random")
        scores = (teacher or {}).get(pair.query_id, pair.teacher)
        made.append(replace(pair, negatives=tuple(chosen), teacher=scores))
    counts["negatives_attached"] = sum(len(pair.negatives) for pair in made)
    if mined is not None:
        counts["negatives_unmined_queries"] = len(asked - set(mined))
    return replace(pairs, pairs=tuple(made), counts={**pairs.counts, **counts})


def _others(
    pair: Pair, chosen: Sequence[str], wanted: int, pool_ids: Sequence[str], seed: int, purpose: str
) -> list[str]:
    """Random skills of the pool that are neither answers nor chosen; fewer if the pool has no more."""
    found: list[str] = []
    if wanted:
        order = shuffled(len(pool_ids), generator(seed, pair.query_id, purpose))
        taken = {*pair.answers, pair.skill_id, *chosen}
        while len(found) < wanted and (position := next(order, None)) is not None:
            if pool_ids[position] not in taken:
                found.append(pool_ids[position])
    return found


def _row(mined: MinedQuery) -> dict[str, Any]:
    negatives = [
        {"skill_id": found.skill_id, "kind": found.kind, "rank": found.rank, "score": found.score}
        for found in mined.negatives
    ]
    row: dict[str, Any] = {"query_id": mined.query_id, "negatives": negatives}
    return row | ({"teacher": dict(mined.teacher)} if mined.teacher else {})


def _read_manifest(file: Path, corpus_hash: str, *, required: bool) -> dict[str, Any]:
    path = file.parent / MANIFEST
    if not path.is_file():
        if required:
            raise UserError(file.parent, fix=f"has no {MANIFEST}; make a folder of negatives with skillfit mine")
        log.warning("%s has no %s beside it: whether it was mined from this corpus is not known", file, MANIFEST)
        return {}
    manifest = read_json(path)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        if not required:
            return {}  # some other folder's manifest
        raise UserError(path, fix="is no manifest of mined negatives; make a folder of negatives with skillfit mine")
    if manifest.get("format_version") != FORMAT_VERSION:
        fix = f"this skillfit reads version {FORMAT_VERSION}; mine again"
        raise UserError(path, "format_version", manifest.get("format_version"), fix)
    if manifest.get("corpus_hash") != corpus_hash:
        fix = f"is another corpus than the one in use, {corpus_hash}; mine again over this one"
        raise UserError(path, "corpus_hash", manifest.get("corpus_hash"), fix)
    if file.name == NEGATIVES and file.is_file() and hash_file(file) != manifest.get("sha256"):
        raise UserError(file, fix="was changed after mining; mine again, or copy it elsewhere to use it on its own")
    return manifest


def _skills(record: Mapping[str, Any], known: Container[str] | None, place: str) -> tuple[str, ...]:
    entries = record.get("negatives")
    if not isinstance(entries, list):
        shown = "is missing" if "negatives" not in record else "expected a list of objects with a skill_id"
        raise UserError(place, "negatives", entries, shown)
    found: dict[str, None] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise UserError(place, "negatives", entry, "expected an object with a skill_id")
        skill_id = text_field(entry, ("skill_id",), place)
        if skill_id in found:
            raise UserError(place, "skill_id", skill_id, "is listed twice")
        _refuse_unknown(skill_id, known, place)
        found[skill_id] = None
    return tuple(found)


def _teacher(record: Mapping[str, Any], known: Container[str] | None, place: str) -> dict[str, float]:
    scores = record.get("teacher", {})
    if not isinstance(scores, dict):
        raise UserError(place, "teacher", scores, "expected an object that maps skill ids to scores")
    for skill_id, score in scores.items():
        _refuse_unknown(skill_id, known, place)
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise UserError(place, f"teacher: {skill_id}", score, "give a finite number")
    return {skill_id: float(score) for skill_id, score in scores.items()}


def _refuse_unknown(skill_id: str, known: Container[str] | None, place: str) -> None:
    if known is not None and skill_id not in known:
        raise UserError(place, "skill_id", skill_id, "is not in the corpus")
