"""Queries of several sources joined into one set and checked against the corpus they are asked of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import Literal

from skillfit.data.queries import QuerySet
from skillfit.errors import UserError

Rule = Literal["error", "drop"]


def join_queries(
    tables: Sequence[tuple[str, QuerySet, Rule]], known: Container[str]
) -> tuple[QuerySet, dict[str, int]]:
    """The queries of several sources as one, with counts of what they are and of what was left out.

    tables: (source, its queries, what happens to judged ids that `known`, the corpus, does not have). Raises UserError
    for such ids under `error`, and for a query id that two sources have.
    """
    table = merge_queries([(place, without_unknown(table, known, place, rule)) for place, table, rule in tables])
    counts = Counter(table.counts)
    counts["queries"] = len(table.queries)
    counts["judged"] = len(table.required)
    counts["needing_no_skill"] = sum(not skills for skills in table.required.values())
    counts["unscored"] = len(table.unscored)
    counts["unjudged"] = len(table.queries) - len(table.required) - len(table.unscored)
    return table, {name: count for name, count in sorted(counts.items()) if count}


def merge_queries(tables: Sequence[tuple[str, QuerySet]]) -> QuerySet:
    """The queries of several sources as one. Raises UserError for a query id that two of them have."""
    places: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for place, table in tables:
        for query in table.queries:
            if query.query_id in places:
                raise UserError(place, "query_id", query.query_id, f"is also in {places[query.query_id]}")
        places.update((query.query_id, place) for query in table.queries)
        counts.update(table.counts)
    return QuerySet(
        tuple(query for _, table in tables for query in table.queries),
        {query: skills for _, table in tables for query, skills in table.required.items()},
        {query: row for _, table in tables for query, row in table.grades.items()},
        frozenset(query for _, table in tables for query in table.unscored),
        counts,
    )


def without_unknown(table: QuerySet, known: Container[str], place: str, rule: Rule) -> QuerySet:
    """The same queries with judged ids that the corpus or the queries do not have left out and counted.

    A query that loses all its required skills becomes unjudged. Raises UserError under the rule `error`.
    """
    asked = {query.query_id for query in table.queries}
    strangers = sorted((set(table.required) | set(table.grades)) - asked)
    judged = {skill for skills in table.required.values() for skill in skills}
    judged |= {skill for row in table.grades.values() for skill in row}
    lost = sorted(skill for skill in judged if skill not in known)
    if not lost and not strangers:
        return table
    if rule == "error":
        kind, some, where = ("skill", lost, "corpus") if lost else ("query", strangers, "queries")
        fix = f"{len(some)} judged {kind} ids are not in the {where}; mend them, or leave them out with unknown=drop"
        raise UserError(place, f"{kind} ids", ", ".join(some[:3]), fix)
    required = {
        query: frozenset(skill for skill in skills if skill in known)
        for query, skills in table.required.items()
        if query in asked
    }
    required = {query: skills for query, skills in required.items() if skills or not table.required[query]}
    grades = {
        query: {skill: grade for skill, grade in row.items() if skill in known}
        for query, row in table.grades.items()
        if query in asked
    }
    counts = Counter(table.counts)
    counts["unknown_skills_dropped"] = len(lost)
    counts["unknown_queries_dropped"] = len(strangers)
    counts["queries_without_known_skill"] = len(asked & set(table.required)) - len(required)
    counts["queries_with_fewer_skills"] = sum(len(required[q]) < len(table.required[q]) for q in required)
    return QuerySet(table.queries, required, grades, table.unscored, {name: n for name, n in counts.items() if n})
