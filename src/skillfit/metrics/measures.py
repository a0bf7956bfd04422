"""Measures by the names papers print: `Hit@1`, `MRR@10`, `nDCG@5`, `Recall@50`, `FC@10`, `Precision@3`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from skillfit.errors import UserError, suggest
from skillfit.metrics.full_coverage import full_coverage
from skillfit.metrics.hit import hit
from skillfit.metrics.mrr import reciprocal_rank
from skillfit.metrics.ndcg import ndcg
from skillfit.metrics.precision import precision
from skillfit.metrics.recall import recall

PUBLISHED: Mapping[str, Callable[..., float]] = {
    "Hit": hit,
    "MRR": reciprocal_rank,
    "nDCG": ndcg,
    "Recall": recall,
    "FC": full_coverage,
    "Precision": precision,
}
OTHER_NAMES = {
    "p": "Precision",
    "r": "Recall",
    "rr": "MRR",
    "success": "Hit",
    "completeness": "FC",
    "fullcoverage": "FC",
}
GRADED, BINARY = ("ranked", "relevances", "k"), ("ranked", "required", "k")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure at a cutoff. Its function takes (ranked, required, k), or (ranked, relevances, k) if it is graded."""

    name: str
    cutoff: int
    function: Callable[..., float]

    @property
    def is_graded(self) -> bool:
        """Whether the function reads graded relevances; the name of its second parameter says so."""
        return _parameters(self.function) == GRADED

    def score(self, ranked: Sequence[str], required: AbstractSet[str], relevances: Mapping[str, int]) -> float:
        """The value of one query's ranking, best first. Raises ValueError if nothing is right for the query."""
        return self.function(ranked, relevances if self.is_graded else required, self.cutoff)


def parse_measure(name: str, *, place: str = "measures") -> Measure:
    """A Measure from `Name@k`, k >= 1. Name is a published one or the import path of a function of your own.

    Own functions take (ranked, required, k) or (ranked, relevances, k), by these names: `my_package.depth.depth@5`.
    Raises UserError, with the closest known names, for anything else.
    """
    match = re.fullmatch(r"([^@\s]+)@([1-9][0-9]{0,8})", name) if isinstance(name, str) else None
    if match is None:
        raise UserError(place, "measure", name, f"write a name and a cutoff >= 1, such as {_closest(name)}@10")
    family, cutoff = match[1], int(match[2])
    function = PUBLISHED.get(family)
    if function is None and "." in family:
        function = _imported(family, name, place)
    if function is None:
        close = _closest(family, fallback="")
        hint = f"did you mean {close}@{cutoff}? known: {', '.join(PUBLISHED)}" if close else suggest(family, PUBLISHED)
        raise UserError(place, "measure", name, hint)
    return Measure(name, cutoff, function)


def parse_measures(names: Iterable[str], *, place: str = "measures") -> tuple[Measure, ...]:
    """Measures in the order named. Raises UserError for a wrong name, one named twice, none at all or a bare text."""
    if isinstance(names, str):
        raise UserError(place, "measures", names, "give a list, such as [Hit@1, MRR@10]")
    measures = tuple(parse_measure(name, place=place) for name in names)
    if not measures:
        raise UserError(place, "measures", "[]", "name at least one measure, such as Hit@1")
    seen: set[str] = set()
    for measure in measures:
        if measure.name in seen:
            raise UserError(place, "measure", measure.name, "is named twice; keep one")
        seen.add(measure.name)
    return measures


def _closest(word: object, *, fallback: str = "Hit") -> str:
    family = str(word).partition("@")[0].strip().lower()
    known = {name.lower(): name for name in PUBLISHED} | OTHER_NAMES
    return known.get(family.replace("_", "").replace("-", ""), fallback)


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., float]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _imported(path: str, name: str, place: str) -> Callable[..., float]:
    module, _, attribute = path.rpartition(".")
    try:
        function = getattr(import_module(module), attribute)
        parameters = _parameters(function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(place, "measure", name, f"no such function can be imported ({error})") from error
    if parameters not in (BINARY, GRADED):
        raise UserError(
            place, "measure", name, "the function must take (ranked, required, k) or (ranked, relevances, k)"
        )
    return function  # type: ignore[no-any-return]


DEFAULT_MEASURES = parse_measures(["Hit@1", "MRR@10", "nDCG@10", "Recall@10", "Recall@20", "Recall@50", "FC@10"])
