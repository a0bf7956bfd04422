"""The words everything else speaks: Skill, Query, Qrels and Run. Ids are strings everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from skillfit.errors import UserError

SIZE = "size"  # the group axis every query has: single, multi, none or unjudged


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill as data: its text, where it came from and what lies beside it. Nothing in it is ever executed.

    files: paths relative to the skill's folder. extra: what the source told besides (stars, category, hub fields).
    copy_group: the id shared by skills whose normalised bodies are equal; `near_copies`: ids of look-alikes above the
    importer's similarity threshold.
    """

    skill_id: str
    name: str
    description: str
    body: str
    license: str = ""
    source: str = ""
    files: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    copy_group: str = ""
    near_copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A task in words; `groups` maps an axis (`size`, `split`, `domain`, …) to this query's value on it."""

    query_id: str
    text: str
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Qrels:
    """What is right for each query: the required skills and, independently, graded relevances.

    required: query_id -> skill ids (Hit, MRR, Recall, FC). A query mapped to an empty set is declared to need no skill.
    grades: query_id -> skill_id -> int >= 0 for graded nDCG; a query without grades falls back to `required`.
    """

    required: Mapping[str, frozenset[str]]
    grades: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def relevances(self, query_id: str) -> Mapping[str, int]:
        """The gains nDCG uses for a query: its positive grades, or 1 for each required skill when it has no grades."""
        graded = {skill: grade for skill, grade in self.grades.get(query_id, {}).items() if grade > 0}
        return graded or dict.fromkeys(self.required.get(query_id, ()), 1)

    def skill_ids(self) -> set[str]:
        """Every skill id that some judgement names."""
        ids = {skill for skills in self.required.values() for skill in skills}
        return ids | {skill for grades in self.grades.values() for skill in grades}

    def size_of(self, query_id: str) -> str:
        """`single`, `multi`, `none` (declared to need no skill) or `unjudged` (the data says nothing)."""
        required = self.required.get(query_id)
        if required is None:
            return "unjudged"
        return "none" if not required else "single" if len(required) == 1 else "multi"


@dataclass(frozen=True, slots=True)
class Ranking:
    """One query's answer, best first: distinct skill ids and their scores, both of the same length."""

    skill_ids: tuple[str, ...]
    scores: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.skill_ids) != len(self.scores):
            raise ValueError(f"{len(self.skill_ids)} skill ids with {len(self.scores)} scores: give one score a skill")

    def __len__(self) -> int:
        return len(self.skill_ids)


class Run(Mapping[str, Ranking]):
    """query_id -> ranked skills. The order is fixed here, once: score descending, then skill_id ascending.

    A system's answer has one order, so every metric and every file sees the same ties broken in the same way.
    Skills kept behind reranked ones need scores below theirs. Rankings given in another order, or with a score that is
    not finite, raise ValueError: a run file could not give that order back.
    """

    def __init__(self, rankings: Mapping[str, Ranking]) -> None:
        self._rankings = dict(rankings)
        for query_id, ranking in self._rankings.items():
            _refuse_disorder(query_id, ranking)

    @classmethod
    def from_scores(cls, scores: Mapping[str, Iterable[tuple[str, float]]], *, place: str = "run") -> Run:
        """Sort (skill_id, score) pairs of each query by the one rule.

        Raises UserError for a score that is not finite or a skill that occurs twice under one query.
        """
        rankings = {}
        for query_id, pairs in scores.items():
            rows = list(pairs)
            for skill_id, score in rows:
                if not math.isfinite(score):
                    raise UserError(place, f"query {query_id}, skill {skill_id}: score", score, "give a finite number")
            rows.sort(key=lambda row: (-row[1], row[0]))
            _refuse_repeats(query_id, [skill_id for skill_id, _ in rows], place)
            rankings[query_id] = Ranking(tuple(s for s, _ in rows), tuple(float(x) for _, x in rows))
        return cls(rankings)

    @classmethod
    def from_order(cls, order: Mapping[str, Sequence[str]], *, place: str = "run", allow_repeats: bool = False) -> Run:
        """Keep the order of lists that come without scores; the scores become 1/rank, so they fall strictly.

        allow_repeats: keep a skill that occurs twice (SkillRouter's own scorer does). Raises UserError otherwise.
        """
        rankings = {}
        for query_id, skill_ids in order.items():
            if not allow_repeats:
                _refuse_repeats(query_id, skill_ids, place)
            rankings[query_id] = Ranking(tuple(skill_ids), tuple(1.0 / (i + 1) for i in range(len(skill_ids))))
        return cls(rankings)

    def __getitem__(self, query_id: str) -> Ranking:
        return self._rankings[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def ranked(self, query_id: str) -> tuple[str, ...]:
        """The skill ids of a query, best first; empty when the run has no answer for it."""
        ranking = self._rankings.get(query_id)
        return ranking.skill_ids if ranking else ()

    def top(self, k: int) -> Run:
        """The same run cut to its first k skills a query."""
        return Run({q: Ranking(r.skill_ids[:k], r.scores[:k]) for q, r in self._rankings.items()})


def _refuse_disorder(query_id: str, ranking: Ranking) -> None:
    if not all(map(math.isfinite, ranking.scores)):
        raise ValueError(f"query {query_id}: a score is not finite")
    keys = [(-score, skill_id) for skill_id, score in zip(ranking.skill_ids, ranking.scores, strict=True)]
    for earlier, later in pairwise(keys):
        if later < earlier:
            raise ValueError(f"query {query_id}: {earlier[1]} stands before {later[1]}: sort with Run.from_scores")


def _refuse_repeats(query_id: str, skill_ids: Sequence[str], place: str) -> None:
    if len(set(skill_ids)) == len(skill_ids):
        return
    seen: set[str] = set()
    for skill_id in skill_ids:
        if skill_id in seen:
            raise UserError(place, f"query {query_id}: skill", skill_id, "listed twice; keep its first occurrence only")
        seen.add(skill_id)
