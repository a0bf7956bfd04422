"""The category of every skill: a field of the data, its source, or a cluster of similar skills."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as options_class

from skillfit.errors import UserError, suggest
from skillfit.progress import track

if TYPE_CHECKING:
    from skillfit.data.corpus import Corpus
    from skillfit.types import Skill

log = logging.getLogger(__name__)
FIELDS = ("category", "registry_category", "sub", "major", "domain")  # of `extra`, as known sources name it
MOST_CLUSTERS = 51  # the number of SkillRouter's categories
BODY_CHARACTERS = 2_000  # of each body that clustering reads: enough for its topic
HASHED_WORDS, COMPONENTS, BATCH = 1 << 16, 64, 4_096
COVERED, WITH_COMPANY = 0.9, 0.5  # from which shares of the skills on `auto` takes a field or the source

By = Literal["auto", "field", "source", "clusters"]


@options_class(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CategoryOptions:
    """Where categories come from.

    by: `field` (of `extra`; a dot reaches into it), `source` (the repository), `clusters`, or `auto`: the first of
    these that fits, a field that nine tenths of the skills have, sources that at least half of the skills share.
    clusters: how many; null is one for ten skills, 2 to 51. A field that is named is taken whatever it covers.
    """

    by: By = "auto"
    field: str | None = None
    clusters: int | None = Field(default=None, ge=2)

    def __post_init__(self) -> None:
        if self.field is not None and self.by not in ("auto", "field"):
            raise UserError("config", "field", self.field, f"is not read when categories come by {self.by}")


@dataclass(frozen=True)
class Categories:
    """labels: (N,) int32 in the corpus's order, -1 for a skill without a category. facts: where they came from."""

    labels: np.ndarray
    facts: Mapping[str, Any]

    def of(self, positions: Iterable[int]) -> tuple[int, ...]:
        """The distinct labels of some skills, ascending; skills without a category add none."""
        return tuple(sorted({int(self.labels[i]) for i in positions} - {-1}))

    def within(self, labels: Sequence[int]) -> np.ndarray:
        """Positions of the skills in one of these categories, ascending."""
        return np.flatnonzero(np.isin(self.labels, labels))

    def outside(self, labels: Sequence[int]) -> np.ndarray:
        """Positions of the skills whose category is known and none of these, ascending."""
        return np.flatnonzero(~np.isin(self.labels, [*labels, -1]))


def find_categories(
    corpus: Corpus, options: CategoryOptions, *, seed: int, vectors: np.ndarray | None = None
) -> Categories:
    """One category a skill, read in one pass over the corpus; clusters are of the vectors, or else of the texts.

    vectors: (N, H) of the pool in storage order. Equal for equal seeds and numbers of compute threads. Raises UserError
    for a field that no skill has, and where everything is in one category.
    """
    if options.by == "clusters":
        return _clusters(corpus, options.clusters, seed, vectors)
    fields = [options.field] if options.field else list(FIELDS)
    columns, sources = _values(corpus, fields)
    if options.by == "source":
        return _labelled(_useful(sources, "source", options), {"by": "source"})
    if options.by == "field" or options.field:
        name = next((name for name in fields if any(columns[name])), fields[0])
        return _labelled(_useful(columns[name], name, options), {"by": "field", "field": name})
    for name in fields:
        if _fits(columns[name]):
            return _labelled(columns[name], {"by": "field", "field": name})
    if _fits(sources):
        return _labelled(sources, {"by": "source"})
    return _clusters(corpus, options.clusters, seed, vectors)


def _values(corpus: Corpus, fields: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The columns of the fields, and the sources; "" where a skill has no value."""
    columns: dict[str, list[str]] = {name: [] for name in fields}
    sources = []
    for skill in corpus:
        for name in fields:
            columns[name].append(_lookup(skill.extra, name))
        sources.append(skill.source.strip())
    return columns, sources


def _lookup(extra: Mapping[str, Any], path: str) -> str:
    value: Any = extra.get(path)
    if value is None:
        value = extra
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).strip()


def _fits(column: Sequence[str]) -> bool:
    counts = Counter(value for value in column if value)
    in_company = sum(count for count in counts.values() if count > 1)
    return (
        len(counts) > 1 and sum(counts.values()) >= COVERED * len(column) and in_company >= WITH_COMPANY * len(column)
    )


def _useful(column: list[str], name: str, options: CategoryOptions) -> list[str]:
    """The column itself. Raises UserError if it tells nothing apart."""
    counts = Counter(value for value in column if value)
    key, given = ("field", options.field) if options.field else ("by", options.by)
    if not counts:
        what = "no skill names its source" if name == "source" else f"no skill has it; {suggest(name, FIELDS)}"
        raise UserError("config", f"categories.{key}", given, f"{what}; or use categories.by=clusters")
    if len(counts) == 1:
        fix = f"all skills have one value, {next(iter(counts))!r}; use categories.by=clusters"
        raise UserError("config", f"categories.{key}", given, fix)
    return column


def _labelled(column: Sequence[str], facts: dict[str, Any]) -> Categories:
    names = {value: i for i, value in enumerate(sorted({value for value in column if value}))}
    labels = np.fromiter((names.get(value, -1) for value in column), dtype=np.int32, count=len(column))
    return Categories(labels, facts | _sizes(labels))


def _sizes(labels: np.ndarray) -> dict[str, int]:
    counts = np.bincount(labels[labels >= 0])
    return {
        "categories": int((counts > 0).sum()),
        "largest": int(counts.max()),
        "without_category": int((labels < 0).sum()),
    }


def _clusters(corpus: Corpus, clusters: int | None, seed: int, vectors: np.ndarray | None) -> Categories:
    from sklearn.cluster import MiniBatchKMeans

    number = clusters or min(MOST_CLUSTERS, max(2, len(corpus) // 10))
    if number > len(corpus):
        raise UserError("config", "categories.clusters", number, f"the corpus has {len(corpus)} skills only")
    points = _unit_rows(vectors) if vectors is not None else _topics(corpus, seed)
    kmeans = MiniBatchKMeans(number, random_state=seed, n_init=3, batch_size=BATCH)
    labels = kmeans.fit_predict(points).astype(np.int32)
    facts = {"by": "clusters", "of": "texts" if vectors is None else "vectors", "seed": seed}
    found = Categories(labels, facts | _sizes(labels))
    log.info("categories: %d clusters of %s", found.facts["categories"], found.facts["of"])
    return found


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    rows = np.asarray(vectors, dtype=np.float32)
    unit: np.ndarray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit


def _topics(corpus: Corpus, seed: int) -> np.ndarray:
    """(N, <= 64) unit vectors: hashed TF-IDF of each skill's beginning, reduced; texts are streamed."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    hashed = HashingVectorizer(
        n_features=HASHED_WORDS, alternate_sign=False, norm=None, stop_words="english", dtype=np.float32
    )
    counts = hashed.transform(_texts(track(corpus, "reading skills", len(corpus))))
    weighted = TfidfTransformer(sublinear_tf=True).fit(counts).transform(counts, copy=False)
    components = min(COMPONENTS, len(corpus) - 1)
    if components < 1:
        return np.ones((len(corpus), 1), dtype=np.float32)
    return _unit_rows(TruncatedSVD(components, random_state=seed).fit_transform(weighted))


def _texts(skills: Iterable[Skill]) -> Iterator[str]:
    return (f"{skill.name} {skill.description} {skill.body[:BODY_CHARACTERS]}" for skill in skills)
