"""From a Run to one value a query and measure, with a count for every query that is not in the mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from skillfit.errors import UserError, suggest
from skillfit.metrics.measures import DEFAULT_MEASURES, Measure
from skillfit.metrics.stats import Floats
from skillfit.types import SIZE, Qrels, Query, Run

Profile = Literal["default", "sr"]
NONE, UNJUDGED, MISSING, OUTSIDE_POOL = "none", "unjudged", "missing", "outside_pool"


@dataclass(frozen=True, slots=True)
class ScoreCounts:
    """Where every query went. Default: queries = scored + none + unjudged, and `missing` ones are scored as 0.

    profile=sr: queries = scored + none + unjudged + missing + outside_pool, as it leaves missing predictions out.
    repeats: places in scored rankings that hold a skill named before. unknown: answers of the run to no query given.
    """

    queries: int
    scored: int
    none: int
    unjudged: int
    missing: int
    outside_pool: int
    repeats: int
    unknown: int


@dataclass(frozen=True, slots=True, eq=False)
class QueryScores:
    """The scored queries, one position each in every array, in the order the queries were given.

    n_required: (Q,) right skills, within the pool for profile=sr. first_required: (Q,) rank of the first one in the
    whole list, 0 if it is not there. answered: (Q,) whether the run has the query. values: measure name -> (Q,).
    left_out: query_id -> none, unjudged, missing or outside_pool.
    """

    query_ids: tuple[str, ...]
    groups: tuple[Mapping[str, str], ...]
    n_required: np.ndarray[Any, np.dtype[np.int64]]
    first_required: np.ndarray[Any, np.dtype[np.int64]]
    answered: np.ndarray[Any, np.dtype[np.bool_]]
    values: Mapping[str, Floats]
    left_out: Mapping[str, str]
    counts: ScoreCounts

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain record a scored query, as in `per_query.parquet`: axes but for `size` become `group:<axis>`.

        first_rank is null where no required skill is listed.
        """
        for i, query_id in enumerate(self.query_ids):
            yield {
                "query_id": query_id,
                "size": self.groups[i][SIZE],
                "n_required": int(self.n_required[i]),
                "answered": bool(self.answered[i]),
                "first_rank": int(self.first_required[i]) or None,
                **{name: float(column[i]) for name, column in self.values.items()},
                **{f"group:{axis}": value for axis, value in self.groups[i].items() if axis != SIZE},
            }


def score_run(
    run: Run,
    queries: Sequence[Query],
    qrels: Qrels,
    measures: Sequence[Measure] = DEFAULT_MEASURES,
    *,
    profile: Profile = "default",
    pool_ids: Collection[str] | None = None,
) -> QueryScores:
    """Score every query that has a right answer, each by itself: no query's value depends on another's.

    Queries that need no skill (`none`) and those the data does not judge are left out and counted. default: a query
    the run does not answer scores 0 on every measure; pool_ids, if given, must hold every judged skill.
    sr, SkillRouter's own scorer (arXiv 2603.22455): such a query is skipped; required skills and relevances count only
    within pool_ids, a query with none left is skipped, and its size is the one before; repeated ids are kept.
    Raises UserError for an unknown profile, two queries of one id, a run that answers none of the queries, repeats or
    judged skills outside the pool (default), or pool_ids missing (sr).
    """
    _check_inputs(run, queries, profile, pool_ids)
    pool = None if pool_ids is None else frozenset(pool_ids)
    if pool is not None and profile == "default":
        _refuse_outsiders(qrels, pool)
    scored: list[tuple[Query, frozenset[str]]] = []
    left_out: dict[str, str] = {}
    for query in queries:
        required = qrels.required.get(query.query_id, frozenset())
        if pool is not None:
            required &= pool
        reason = _reason_to_leave_out(query, qrels, run, required, profile)
        if reason:
            left_out[query.query_id] = reason
        else:
            scored.append((query, required))
    repeats = _count_repeats(run, scored, profile)
    table = _measure(run, scored, qrels, measures, pool)
    answered = np.array([query.query_id in run for query, _ in scored], dtype=np.bool_)
    return QueryScores(
        query_ids=tuple(query.query_id for query, _ in scored),
        groups=tuple({**query.groups, SIZE: qrels.size_of(query.query_id)} for query, _ in scored),
        n_required=np.array([len(required) for _, required in scored], dtype=np.int64),
        first_required=np.array([_first(run.ranked(q.query_id), required) for q, required in scored], dtype=np.int64),
        answered=answered,
        values={measure.name: table[:, i] for i, measure in enumerate(measures)},
        left_out=left_out,
        counts=_counts(run, queries, left_out, unanswered=int((~answered).sum()), repeats=repeats),
    )


def _counts(
    run: Run, queries: Sequence[Query], left_out: Mapping[str, str], *, unanswered: int, repeats: int
) -> ScoreCounts:
    why = Counter(left_out.values())
    return ScoreCounts(
        queries=len(queries),
        scored=len(queries) - len(left_out),
        none=why[NONE],
        unjudged=why[UNJUDGED],
        missing=why[MISSING] + unanswered,
        outside_pool=why[OUTSIDE_POOL],
        repeats=repeats,
        unknown=len(set(run) - {query.query_id for query in queries}),
    )


def paired(first: QueryScores, second: QueryScores, measure: str) -> tuple[Floats, Floats]:
    """The values of two runs on one measure, position i of both being the same query, for the paired tests.

    Raises UserError if they were not scored on the same queries, or not by that measure.
    """
    for scores in (first, second):
        if measure not in scores.values:
            raise UserError("comparison", "measure", measure, suggest(measure, scores.values))
    if set(first.query_ids) != set(second.query_ids):
        only = sorted(set(first.query_ids) ^ set(second.query_ids))
        raise UserError("comparison", "queries", ", ".join(only[:5]), "were scored for one run only; use one query set")
    position = {query_id: i for i, query_id in enumerate(second.query_ids)}
    return first.values[measure], second.values[measure][[position[query_id] for query_id in first.query_ids]]


def _reason_to_leave_out(query: Query, qrels: Qrels, run: Run, required: frozenset[str], profile: Profile) -> str:
    size = qrels.size_of(query.query_id)
    if size == UNJUDGED and query.groups.get(SIZE) == NONE:
        return NONE  # declared by the query itself
    if size in (NONE, UNJUDGED):
        return size
    if profile == "sr" and query.query_id not in run:
        return MISSING
    return "" if required else OUTSIDE_POOL


def _measure(
    run: Run,
    scored: Sequence[tuple[Query, frozenset[str]]],
    qrels: Qrels,
    measures: Sequence[Measure],
    pool: frozenset[str] | None,
) -> Floats:
    table = np.zeros((len(scored), len(measures)))
    for i, (query, required) in enumerate(scored):
        ranked, relevances = run.ranked(query.query_id), qrels.relevances(query.query_id)
        if pool is not None:
            relevances = {s: r for s, r in relevances.items() if s in pool} or dict.fromkeys(required, 1)
        for j, measure in enumerate(measures):
            table[i, j] = measure.score(ranked, required, relevances)
    if not np.isfinite(table).all():
        i, j = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"{measures[j].name} of query {scored[i][0].query_id} is {table[i, j]}: a measure must be finite"
        )
    return table


def _first(ranked: Sequence[str], required: frozenset[str]) -> int:
    return next((rank for rank, skill in enumerate(ranked, start=1) if skill in required), 0)


def _check_inputs(run: Run, queries: Sequence[Query], profile: str, pool_ids: Collection[str] | None) -> None:
    if profile not in get_args(Profile):
        raise UserError("metrics", "profile", profile, suggest(profile, get_args(Profile)))
    if profile == "sr" and pool_ids is None:
        raise UserError("metrics", "pool_ids", fix="profile=sr counts only skills in the pool; give its ids")
    twice = [query_id for query_id, n in Counter(query.query_id for query in queries).items() if n > 1]
    if twice:
        raise UserError("queries", "query_id", twice[0], "stands for two queries; ids must differ")
    if run and queries and not any(query.query_id in run for query in queries):
        example = f"the run has {next(iter(run))!r}, the queries have {queries[0].query_id!r}"
        raise UserError("run", "query ids", fix=f"none of them is a query's ({example}); use the run of these queries")


def _refuse_outsiders(qrels: Qrels, pool: frozenset[str]) -> None:
    outside = sorted(qrels.skill_ids() - pool)
    if outside:
        fix = f"is not in the pool ({len(outside)} judged skills are not); drop them when reading or use the right pool"
        raise UserError("qrels", "skill", outside[0], fix)


def _count_repeats(run: Run, scored: Sequence[tuple[Query, frozenset[str]]], profile: Profile) -> int:
    total = 0
    for query, _ in scored:
        ranked = run.ranked(query.query_id)
        repeats = len(ranked) - len(set(ranked))
        if repeats and profile == "default":
            skill_id = next(skill for skill, n in Counter(ranked).items() if n > 1)
            raise UserError(
                "run", f"query {query.query_id}: skill", skill_id, "listed twice; keep its first place only"
            )
        total += repeats
    return total
