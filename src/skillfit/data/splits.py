"""Splitting judged queries by skill, and smaller pools and training sets for cheap experiments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from skillfit.data.benchmark import SPLIT, Benchmark
from skillfit.data.corpus import Corpus
from skillfit.data.false_negatives import normalised_name
from skillfit.errors import UserError
from skillfit.types import Qrels, Query


def dev_skills(
    skills: Iterable[str], required: Iterable[frozenset[str]], corpus: Corpus, *, share: float, seed: int
) -> frozenset[str]:
    """About `share` of the skills, drawn by seed, to be asked for in dev alone.

    Skills stay together that one query requires, that have the same normalised name, or that are copies or near copies:
    what dev asks for is then not seen in training under another id.
    """
    chosen = sorted(set(skills))
    group = _components(_ties(chosen, required, corpus), chosen)
    members: dict[int, list[str]] = {}
    for skill, number in group.items():
        members.setdefault(number, []).append(skill)
    dev: set[str] = set()
    for number in np.random.default_rng(seed).permutation(len(members)):
        if len(dev) >= share * len(chosen):
            break
        dev.update(members[int(number)])
    return frozenset(dev)


def with_split(queries: Iterable[Query], required: Mapping[str, frozenset[str]], dev: frozenset[str]) -> list[Query]:
    """The queries that require a skill, with `split` set to dev or train; one that requires both kinds is dev's."""
    judged = [query for query in queries if required.get(query.query_id)]
    split = {query.query_id: "dev" if required[query.query_id] & dev else "train" for query in judged}
    return [replace(query, groups={**query.groups, SPLIT: split[query.query_id]}) for query in judged]


def reduced(benchmark: Benchmark, *, pool: int | None, train: int | None, seed: int = 0) -> Benchmark:
    """The same benchmark over `pool` skills and with `train` training queries, drawn by seed; None keeps all.

    The pool keeps every judged skill. Raises UserError for a pool with fewer skills than are judged.
    """
    made = benchmark
    if train is not None:
        inside = [query.query_id for query in made.queries if query.groups.get(SPLIT) == "train"]
        kept = set(np.random.default_rng(seed).permutation(inside)[:train].tolist())
        dropped = set(inside) - kept
        queries = tuple(query for query in made.queries if query.query_id not in dropped)
        made = _asking(made, queries)
        made = replace(made, facts={**made.facts, "train_queries": len(kept)})
    if pool is not None and pool < len(made.corpus):
        made = _asking(made, made.queries)
        needed = made.qrels.skill_ids()
        if pool < len(needed):
            fix = f"the queries judge {len(needed)} skills, which stay in the pool; use at least that many"
            raise UserError("config", "data.pool_size", pool, fix)
        others = [skill for skill in made.corpus.ids if skill not in needed]
        drawn = np.random.default_rng(seed).permutation(others)[: pool - len(needed)].tolist()
        part = made.corpus.part([*needed, *drawn])
        facts = {**made.facts, "corpus_hash": part.content_hash, "skills": len(part), "pool_size": pool}
        made = replace(made, corpus=part, facts=facts)
    return replace(made, facts={**made.facts, "splits": made.splits(), "queries": len(made.queries)})


def _asking(benchmark: Benchmark, queries: Sequence[Query]) -> Benchmark:
    """The benchmark with these queries and their judgements alone."""
    asked = {query.query_id for query in queries}
    required = {query: skills for query, skills in benchmark.qrels.required.items() if query in asked}
    grades = {query: row for query, row in benchmark.qrels.grades.items() if query in asked}
    return replace(benchmark, queries=tuple(queries), qrels=Qrels(required, grades))


def _ties(skills: Sequence[str], required: Iterable[frozenset[str]], corpus: Corpus) -> Iterator[Sequence[str]]:
    yield from (sorted(together) for together in required)
    named: dict[str, list[str]] = {}
    copies = corpus.copies()
    for skill in skills:
        named.setdefault(normalised_name(corpus.get(skill).name), []).append(skill)
        yield sorted(copies.get(skill, {skill}))
    yield from named.values()


def _components(ties: Iterable[Sequence[str]], skills: Sequence[str]) -> dict[str, int]:
    """Skill -> the number of its component; skills outside `skills` tie others together but are not in the answer."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place: dict[str, int] = {skill: i for i, skill in enumerate(skills)}
    left, right = [], []
    for tied in ties:
        numbers = [place.setdefault(skill, len(place)) for skill in tied]
        left += numbers[:1] * len(numbers)
        right += numbers
    graph = coo_array((np.ones(len(left), np.int8), (left, right)), shape=(len(place), len(place)))
    _, labels = connected_components(graph, directed=False)
    found = {int(label): number for number, label in enumerate(dict.fromkeys(labels[: len(skills)].tolist()))}
    return {skill: found[int(labels[i])] for i, skill in enumerate(skills)}
