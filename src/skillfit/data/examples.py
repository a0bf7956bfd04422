"""Training examples of a retriever: pairs of a query and a required skill, from any source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from skillfit.errors import UserError
from skillfit.types import Qrels, Query, Skill

if TYPE_CHECKING:
    from skillfit.data.benchmark import Benchmark


@dataclass(frozen=True, slots=True)
class Pair:
    """A query with one of its required skills.

    answers: every skill id that must not be its negative: all its required skills and their copies. negatives: explicit
    or mined skill ids, hardest first. document: key into `PairSet.documents` of the text to encode, "" for the skill
    itself. teacher: a reranker's scores by skill_id.
    """

    query_id: str
    skill_id: str
    answers: frozenset[str]
    negatives: tuple[str, ...] = ()
    document: str = ""
    teacher: Mapping[str, float] | None = None


@dataclass(frozen=True)
class PairSet:
    """Pairs with their texts. query_texts: the text of every query_id in the pairs, before the view's cap.

    documents: skills by key as the view is to read them, for pairs that do not train on the skill as it is. counts:
    what was kept, merged and left out. leakage: what they share with protected tests, by test.
    """

    pairs: tuple[Pair, ...]
    query_texts: Mapping[str, str]
    documents: Mapping[str, Skill] = field(default_factory=dict)
    counts: Mapping[str, int | float] = field(default_factory=dict)
    leakage: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class PairSource(Protocol):
    """A place where training pairs come from."""

    def pairs(self, benchmark: Benchmark, *, split: str, seed: int, protected: frozenset[str]) -> PairSet:
        """The pairs of a split. protected: skills that a test needs; a source that chooses skills leaves them out."""
        ...


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


def join_pairs(sets: Mapping[str, PairSet]) -> PairSet:
    """The pairs of several sources as one set, counts by source. Raises UserError for a query id with two texts."""
    texts: dict[str, str] = {}
    documents: dict[str, Skill] = {}
    counts: dict[str, int | float] = {}
    for name, found in sets.items():
        for query_id, text in found.query_texts.items():
            if texts.setdefault(query_id, text) != text:
                raise UserError(f"pairs.{name}", "query_id", query_id, "has another text in another source of pairs")
        documents |= found.documents
        counts |= {f"{name}.{what}" if len(sets) > 1 else what: count for what, count in found.counts.items()}
    return PairSet(tuple(pair for found in sets.values() for pair in found.pairs), texts, documents, counts)
