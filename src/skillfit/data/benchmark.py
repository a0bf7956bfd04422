"""A benchmark: corpus, queries and qrels that have been checked against each other, from any of the known places."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.types import SIZE, Qrels, Query

if TYPE_CHECKING:
    from skillfit.data.corpus import Corpus

Unknown = Literal["error", "drop"]
SPLIT = "split"
DATA_VARIABLE = "SKILLFIT_DATA"


@dataclass(frozen=True)
class Benchmark:
    """What is evaluated or trained on. facts: hashes and counts for the provenance, what was dropped included."""

    name: str
    corpus: Corpus
    queries: tuple[Query, ...]
    qrels: Qrels
    facts: Mapping[str, Any] = field(default_factory=dict)

    def split(self, value: str | None) -> Benchmark:
        """The same benchmark with only the queries whose `split` is `value`; None keeps them all.

        Raises UserError naming the splits there are if no query is in it.
        """
        if value is None:
            return self
        chosen = tuple(query for query in self.queries if query.groups.get(SPLIT) == value)
        if not chosen:
            there = ", ".join(sorted(self.splits())) or "none: the queries name no split"
            raise UserError(self.name, "split", value, f"holds no query; splits there are: {there}")
        return replace(self, queries=chosen, facts={**self.facts, "split": value})

    def splits(self) -> dict[str, int]:
        """How many queries each split has."""
        return dict(Counter(query.groups[SPLIT] for query in self.queries if SPLIT in query.groups))

    def axes(self, most: int = 25) -> list[str]:
        """The group axes, but for `size` and `split`, on which these queries have 2 to `most` values."""
        values: dict[str, set[str]] = {}
        for query in self.queries:
            for axis, value in query.groups.items():
                values.setdefault(axis, set()).add(value)
        return sorted(axis for axis, seen in values.items() if axis not in (SIZE, SPLIT) and 2 <= len(seen) <= most)


def make_benchmark(
    name: str, corpus: Corpus, queries: Sequence[Query], qrels: Qrels, *, unknown: Unknown, place: str
) -> Benchmark:
    """Check corpus, queries and qrels against each other.

    unknown: what happens to ids in the qrels that the corpus or the queries do not have: `error`, or `drop` and count.
    A query that loses all its required skills becomes unjudged. Raises UserError for an empty corpus, no queries, or
    unknown ids under `error`.
    """
    if not len(corpus):
        raise UserError(place, "corpus", fix="holds no skill; check the source and its import report")
    if not queries:
        raise UserError(place, "queries", fix="there are none; check the queries file")
    known, asked = set(corpus.ids), {query.query_id for query in queries}
    lost_skills = sorted(qrels.skill_ids() - known)
    lost_queries = sorted((set(qrels.required) | set(qrels.grades)) - asked)
    if unknown == "error":
        for kind, lost, where in (("skill", lost_skills, "corpus"), ("query", lost_queries, "queries")):
            if lost:
                some = ", ".join(lost[:3])
                example = corpus.ids[0] if kind == "skill" else queries[0].query_id
                fix = f"{len(lost)} {kind} ids are not in the {where}, whose ids look like {example!r}; "
                fix += "mend the qrels or set qrels.unknown=drop"
                raise UserError(place, f"qrels: {kind} ids", some, fix)
    kept = _drop_unknown(qrels, known, asked)
    sizes = Counter(_size(query, kept) for query in queries)
    facts = {
        "name": name,
        "corpus_hash": corpus.content_hash,
        "queries_hash": _hash_queries(queries, kept),
        "skills": len(corpus),
        "queries": len(queries),
        "sizes": dict(sorted(sizes.items())),
        "unknown_skills_dropped": len(lost_skills),
        "unknown_queries_dropped": len(lost_queries),
    }
    made = Benchmark(name, corpus, tuple(queries), kept, facts)
    return replace(made, facts={**facts, "splits": made.splits()})


def data_root() -> Path:
    """The folder that the variable SKILLFIT_DATA names. Raises UserError if it is unset or no folder."""
    value = os.environ.get(DATA_VARIABLE, "")
    if not value:
        fix = "is not set; export it as the folder that holds skills.jsonl.gz, skillsbench/ and triggers/"
        raise UserError("environment", DATA_VARIABLE, fix=fix)
    if not Path(value).is_dir():
        raise UserError("environment", DATA_VARIABLE, value, "is no folder")
    return Path(value)


def _size(query: Query, qrels: Qrels) -> str:
    size = qrels.size_of(query.query_id)
    return query.groups.get(SIZE, size) if size == "unjudged" else size


def _drop_unknown(qrels: Qrels, known: set[str], asked: set[str]) -> Qrels:
    required = {}
    for query_id, skills in qrels.required.items():
        kept = skills & known
        if query_id in asked and (kept or not skills):
            required[query_id] = kept
    grades = {
        query_id: {skill: grade for skill, grade in row.items() if skill in known}
        for query_id, row in qrels.grades.items()
        if query_id in asked
    }
    return Qrels(required, grades)


def _hash_queries(queries: Sequence[Query], qrels: Qrels) -> str:
    parts: list[str] = []
    for query in sorted(queries, key=lambda query: query.query_id):
        required = sorted(qrels.required.get(query.query_id, ()))
        grades = sorted(qrels.grades.get(query.query_id, {}).items())
        parts += [query.query_id, query.text, str(required), str(grades)]
    return hash_text(*parts)
