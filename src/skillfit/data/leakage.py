"""The leakage guard: whether training pairs hold what a test asks or requires."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import PairSet
from skillfit.errors import UserError
from skillfit.io.files import hash_text

log = logging.getLogger(__name__)
Rule = Literal["refuse", "warn", "allow"]
SHOWN = 3
WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class Overlap:
    """What one protected benchmark shares with the training pairs: its query ids by exact and normalised text, and the
    training skills that it requires or that are copies of those.
    """

    benchmark: str
    same_text: tuple[str, ...]
    similar_text: tuple[str, ...]
    skills: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.same_text or self.similar_text or self.skills)

    def told(self) -> str:
        """The overlap in a few words, with the first ids."""
        kinds = (("queries", self.same_text), ("queries but for case and punctuation", self.similar_text),
                 ("required skills or copies of them", self.skills))  # fmt: skip
        parts = [f"{len(ids)} {what} ({_some(ids)})" for what, ids in kinds if ids]
        return f"{self.benchmark}: {', '.join(parts)}"


def protected_skills(benchmark: Benchmark, protected: Sequence[Benchmark]) -> frozenset[str]:
    """Ids, in the benchmark's corpus, of the skills that protected benchmarks require, copies and near copies included.

    Where the corpora differ, skills are the same by id or by equal body.
    """
    copies = benchmark.corpus.copies()
    found: set[str] = set()
    bodies: set[str] = set()
    for other in protected:
        needed = _required(other)
        found |= {skill for skill in needed if skill in benchmark.corpus}
        if other.corpus.content_hash != benchmark.corpus.content_hash:
            bodies |= {_body(other.corpus.get(skill).body) for skill in needed}
    bodies.discard(_body(""))
    if bodies:
        found |= {skill.skill_id for skill in benchmark.corpus if _body(skill.body) in bodies}
    return frozenset(copy for skill in found for copy in copies.get(skill, {skill}))


def overlaps(pairs: PairSet, benchmark: Benchmark, protected: Sequence[Benchmark]) -> list[Overlap]:
    """What each protected benchmark shares with the pairs, in their order."""
    exact = set(pairs.query_texts.values())
    similar = {_normalised(text) for text in exact}
    trained = {pair.skill_id for pair in pairs.pairs}
    found = []
    for other in protected:
        same = [query.query_id for query in other.queries if query.text in exact]
        near = {query.query_id for query in other.queries if _normalised(query.text) in similar} - set(same)
        skills = trained & protected_skills(benchmark, [other])
        found.append(Overlap(other.name, tuple(sorted(same)), tuple(sorted(near)), tuple(sorted(skills))))
    return found


def check_leakage(
    pairs: PairSet, benchmark: Benchmark, protected: Sequence[Benchmark], rule: Rule
) -> Mapping[str, Any]:
    """Compare the pairs with the protected benchmarks and act by the rule; returns the counts for the provenance.

    Raises UserError under `refuse`, naming the first ids.
    """
    found = overlaps(pairs, benchmark, protected)
    told = "; ".join(overlap.told() for overlap in found if overlap)
    if told and rule == "refuse":
        fix = f"training pairs hold what a test needs: {told}; take them out, or go on with component.leakage=warn"
        raise UserError("config", "component.leakage", rule, fix)
    if told and rule == "warn":
        log.warning("training pairs hold what a test needs: %s", told)
    return {
        overlap.benchmark: {
            "queries": len(overlap.same_text),
            "queries_normalised": len(overlap.similar_text),
            "skills": len(overlap.skills),
        }
        for overlap in found
    }


def _required(benchmark: Benchmark) -> set[str]:
    return {skill for query in benchmark.queries for skill in benchmark.qrels.required.get(query.query_id, ())}


def _normalised(text: str) -> str:
    return " ".join(WORDS.findall(text.casefold()))


def _body(text: str) -> str:
    return hash_text(" ".join(text.lower().split()))


def _some(ids: Iterable[str]) -> str:
    listed = list(ids)
    return ", ".join(listed[:SHOWN]) + (", …" if len(listed) > SHOWN else "")
