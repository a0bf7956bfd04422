"""Hard negatives: for each query skills that look right and are not, taken from runs, from categories and by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as options_class

from skillfit.data.candidates import DRAWS, Candidate, KindOptions, generator, in_window, score_limit, shuffled
from skillfit.data.categories import Categories
from skillfit.data.false_negatives import FalseNegativeFilter
from skillfit.data.negatives import MinedQuery, Negative
from skillfit.errors import UserError, suggest
from skillfit.progress import track
from skillfit.types import Qrels, Query, Ranking, Run

if TYPE_CHECKING:
    from skillfit.data.corpus import Corpus

Short = Literal["fewer", "drop", "pad"]
PAD = "pad"
_CATEGORY_LISTS = 64  # of positions kept at a time; one takes up to 640 KB at 80,000 skills


@options_class(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Mix:
    """How many negatives of which kinds a query gets, in the order in which they are chosen.

    kinds: `same_category`, `other_category` and `random` are drawn by chance; any other kind is taken from a run.
    """

    kinds: dict[str, KindOptions] = Field(min_length=1)

    def __post_init__(self) -> None:
        if not self.total:
            raise UserError("config", "kinds", ", ".join(self.kinds), "asks for no negative: give a count above 0")
        if PAD in self.kinds:
            raise UserError("config", "kinds", PAD, "is the name of the draws that fill up; choose another")
        for name, options in self.kinds.items():
            if options.window is not None and not 1 <= options.window[0] <= options.window[1]:
                fix = "give first and last rank, as in [21,60]"
                raise UserError("config", f"kinds.{name}.window", list(options.window), fix)
            if name in DRAWS and options != KindOptions(count=options.count):
                raise UserError("config", f"kinds.{name}", name, "is drawn by chance and takes a count only")

    @property
    def total(self) -> int:
        """How many negatives a query gets if none is missing."""
        return sum(options.count for options in self.kinds.values())

    def runs(self) -> tuple[str, ...]:
        """The names of the runs that it takes from."""
        names = [options.run or name for name, options in self.kinds.items() if name not in DRAWS and options.count]
        return tuple(dict.fromkeys(names))

    def needs_categories(self) -> bool:
        """Whether a kind is drawn by category."""
        return any(name in self.kinds and self.kinds[name].count for name in ("same_category", "other_category"))


@dataclass(frozen=True)
class Mined:
    """The queries that were kept, in the order given, and counts that add up (see docs/mining.md)."""

    rows: tuple[MinedQuery, ...]
    counts: Mapping[str, Any]


def mine(
    corpus: Corpus,
    positives: Mapping[str, frozenset[str]],
    runs: Mapping[str, Run],
    mix: Mix,
    *,
    guard: FalseNegativeFilter,
    categories: Categories | None = None,
    short: Short = "fewer",
    seed: int = 0,
) -> Mined:
    """Choose negatives for every query; none is one of its positives nor looks like one to the guard.

    positives: query_id -> all its answers, none empty. runs: by the names that the mix uses. short: what happens to a
    query with fewer negatives than the mix asks for: kept with `fewer`, `drop`ped, or `pad`ded with random skills that
    pass the guard too. Draws depend on seed and query alone. Raises UserError for a missing run or categories, and for
    a run that ranks skills the corpus does not have.
    """
    _check(corpus, runs, mix, categories)
    miner = _Miner(corpus, runs, mix, guard, categories, seed)
    tally: Counter[str] = Counter({name: 0 for name in ("kept", "padded", "short", "empty", "dropped")})
    rows: list[MinedQuery] = []
    for query_id, answers in track(positives.items(), "mining negatives", len(positives)):
        chosen = miner.choose(query_id, answers)
        if len(chosen) < mix.total and short == "pad":
            chosen += miner.pad(query_id, answers, chosen)
            tally["padded"] += len(chosen) == mix.total
        is_short = len(chosen) < mix.total
        if is_short and short == "drop":
            tally["dropped"] += 1
            tally["dropped_negatives"] += len(chosen)
            continue
        tally["short" if is_short else "kept"] += 1
        tally["empty"] += not chosen
        rows.append(MinedQuery(query_id, tuple(chosen)))
    written = sum(len(row.negatives) for row in rows)
    counts = {"queries": {"mined": len(positives), **tally}, **miner.report(), "written": written}
    return Mined(tuple(rows), counts)


def all_positives(queries: Sequence[Query], qrels: Qrels) -> tuple[dict[str, frozenset[str]], Counter[str]]:
    """query_id -> required skills and those with a positive grade; and how many queries have none to mine for.

    Queries of one text, case and white space aside, share their positives. Counts `needing_no_skill`, `unjudged` and
    `sharing_a_text`.
    """
    found: dict[str, frozenset[str]] = {}
    by_text: dict[str, set[str]] = {}
    counts: Counter[str] = Counter({"needing_no_skill": 0, "unjudged": 0, "sharing_a_text": 0})
    for query in queries:
        required = qrels.required.get(query.query_id)
        if required:
            grades = qrels.grades.get(query.query_id, {})
            found[query.query_id] = required | {skill for skill, grade in grades.items() if grade > 0}
            by_text.setdefault(_plain(query.text), set()).update(found[query.query_id])
        else:
            counts["unjudged" if required is None else "needing_no_skill"] += 1
    texts = Counter(_plain(query.text) for query in queries if query.query_id in found)
    for query in queries:
        if query.query_id in found and texts[_plain(query.text)] > 1:
            found[query.query_id] |= by_text[_plain(query.text)]
            counts["sharing_a_text"] += 1
    return found, counts


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _check(corpus: Corpus, runs: Mapping[str, Run], mix: Mix, categories: Categories | None) -> None:
    for name in mix.runs():
        if name not in runs:
            raise UserError("mix", "run", name, f"there is no such run; {suggest(name, runs)}")
    if mix.needs_categories() and categories is None:
        raise UserError("mix", "kinds", "same_category, other_category", "need categories")
    for name in mix.runs():
        for query_id, ranking in runs[name].items():
            if unknown := next((skill for skill in ranking.skill_ids if skill not in corpus), None):
                fix = f"is not in the corpus, whose ids look like {corpus.ids[0]!r}; mine over the pool that was ranked"
                raise UserError(f"run {name}", f"query {query_id}: skill", unknown, fix)
    for kind, options in mix.kinds.items():
        if kind in DRAWS or not options.limited or not options.count:
            continue
        run = runs[options.run or kind]
        if run and all(r.scores == tuple(1.0 / (i + 1) for i in range(len(r))) for r in run.values()):
            raise UserError("mix", f"kinds.{kind}", kind, "its run has ranks and no scores: leave out margin and ratio")


class _Miner:
    """Walks through the candidates of each kind until it has enough, and counts what it passes over and why."""

    def __init__(
        self,
        corpus: Corpus,
        runs: Mapping[str, Run],
        mix: Mix,
        guard: FalseNegativeFilter,
        categories: Categories | None,
        seed: int,
    ) -> None:
        self._ids, self._runs, self._mix, self._guard, self._seed = corpus.ids, runs, mix, guard, seed
        self._categories = categories
        self._position = {skill_id: i for i, skill_id in enumerate(corpus.ids)} if categories else {}
        self._by_category = lru_cache(maxsize=_CATEGORY_LISTS)(self._in_category)
        self._counts = {kind: _empty_counts(guard) for kind in (*mix.kinds, PAD)}
        self._layer_totals = Counter({layer: 0 for layer in guard.layers})

    def choose(self, query_id: str, answers: frozenset[str]) -> list[Negative]:
        """The negatives of a query, kind by kind."""
        chosen: list[Negative] = []
        for kind, options in self._mix.kinds.items():
            rng = generator(self._seed, query_id, kind)
            limit = None
            if kind in DRAWS:
                candidates = self._draw(kind, answers, rng)
            else:
                ranking = self._runs[options.run or kind].get(query_id) or Ranking((), ())
                self._counts[kind]["queries_unanswered"] += not len(ranking)
                ranked = any(skill in answers for skill in ranking.skill_ids)
                self._counts[kind]["queries_without_ranked_positive"] += not ranked
                skipped = options.limited and not ranked and options.unranked == "skip"
                limit = score_limit(ranking, options, answers)
                candidates = iter(()) if skipped else in_window(ranking, options, rng)
            chosen += self._walk(kind, options.count, candidates, answers, chosen, limit)
        return chosen

    def pad(self, query_id: str, answers: frozenset[str], chosen: list[Negative]) -> list[Negative]:
        """Random skills for what is missing."""
        candidates = self._draw("random", answers, generator(self._seed, query_id, PAD))
        return self._walk(PAD, self._mix.total - len(chosen), candidates, answers, chosen, None)

    def report(self) -> dict[str, Any]:
        """Counts a kind, which add up to what was seen; and a layer: pairs it removed first, and all it objects to."""
        kinds = {kind: dict(counts) for kind, counts in self._counts.items() if counts["asked"] or kind != PAD}
        layers = {
            layer: {"removed": sum(counts[layer] for counts in kinds.values()), "objects_to": total}
            for layer, total in self._layer_totals.items()
        }
        total = {key: sum(counts[key] for counts in kinds.values()) for key in ("seen", "kept")}
        return {"candidates": total, "kinds": kinds, "layers": layers}

    def _draw(self, kind: str, answers: frozenset[str], rng: np.random.Generator) -> Iterator[Candidate]:
        if kind == "random":
            return (Candidate(self._ids[i]) for i in shuffled(len(self._ids), rng))
        pool = self._by_category(kind, self._labels(answers))
        return (Candidate(self._ids[pool[i]]) for i in shuffled(len(pool), rng))

    def _labels(self, answers: frozenset[str]) -> tuple[int, ...]:
        assert self._categories is not None
        return self._categories.of(self._position[skill] for skill in answers)

    def _in_category(self, kind: str, labels: tuple[int, ...]) -> np.ndarray:
        assert self._categories is not None
        return self._categories.within(labels) if kind == "same_category" else self._categories.outside(labels)

    def _walk(
        self,
        kind: str,
        wanted: int,
        candidates: Iterator[Candidate],
        answers: frozenset[str],
        before: list[Negative],
        limit: float | None,
    ) -> list[Negative]:
        counts, taken, found = self._counts[kind], {negative.skill_id for negative in before}, list[Negative]()
        counts["asked"] += wanted
        while len(found) < wanted and (candidate := next(candidates, None)) is not None:
            skill_id, rank, score = candidate
            counts["seen"] += 1
            if skill_id in answers:
                counts["positive"] += 1
            elif skill_id in taken:
                counts["chosen_before"] += 1
            elif limit is not None and score is not None and score > limit:
                counts["over_limit"] += 1
            elif objections := self._guard.objections(skill_id, answers):
                counts[objections[0]] += 1
                self._layer_totals.update(objections)
            else:
                counts["kept"] += 1
                found.append(Negative(skill_id, kind, rank, score))
        return found


def _empty_counts(guard: FalseNegativeFilter) -> Counter[str]:
    names = ("asked", "seen", "positive", "chosen_before", "over_limit", *guard.layers, "kept")
    return Counter({name: 0 for name in names})
