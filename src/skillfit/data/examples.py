"""Training examples of a retriever: one (query, required skill) pair a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillfit.types import Qrels, Query


@dataclass(frozen=True, slots=True)
class Pair:
    """A query with one of its required skills; answers: every skill id that must not be its negative."""

    query_id: str
    skill_id: str
    answers: frozenset[str]


def pairs_from(queries: Sequence[Query], qrels: Qrels, copy_groups: Mapping[str, frozenset[str]]) -> list[Pair]:
    """One pair for each required skill of each query, in the order of the queries, skills by id.

    copy_groups: skill_id -> all ids with the same body or flagged as near copies; they count as answers too, so that a
    copy of the right skill is never learned as wrong. All positives of a query are known before any negative is chosen.
    Queries that need no skill give no pair.
    """
    pairs: list[Pair] = []
    for query in queries:
        required = qrels.required.get(query.query_id, frozenset())
        answers = frozenset(copy for skill in required for copy in copy_groups.get(skill, frozenset({skill})))
        pairs.extend(Pair(query.query_id, skill, answers | required) for skill in sorted(required))
    return pairs
