"""The benchmarks a config can name: the embedded one, files of your own, SkillsBench and trigger queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark, Unknown, data_root, make_benchmark
from skillfit.data.corpus import Corpus
from skillfit.data.importer import import_cached
from skillfit.data.native import is_imported, load_imported
from skillfit.data.options import ImportOptions
from skillfit.data.queries import read_queries, read_triggers
from skillfit.errors import UserError
from skillfit.io.qrels import read_qrels, required_from
from skillfit.types import Qrels, Query

_CONFIG = ConfigDict(extra="forbid")
POOLS = {"main": ("skills.jsonl.gz",), "all": ("skills.jsonl.gz", "skills_extra.jsonl.gz")}


def mini_source() -> Path:
    """The folder of skillfit-mini, shipped inside the package."""
    return Path(str(files("skillfit") / "resources" / "mini"))


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class MiniData:
    """skillfit-mini: families of look-alike skills written for this project; a demonstration, no benchmark."""

    split: str | None = "test"

    def load(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The queries of `split` over all its skills."""
        return self.load_all(cache, unknown=unknown).split(self.split)

    def load_all(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """Every query, train, dev and test."""
        folder = import_cached([str(mini_source())], cache, ImportOptions())
        corpus, queries, qrels = load_imported(folder)
        return make_benchmark("skillfit-mini", corpus, queries, qrels, unknown=unknown or "error", place="data=mini")


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class FilesData:
    """Corpus, queries and qrels of your own; what is not given is taken from the corpus source where it has it.

    corpus: an imported folder or anything importable (imported once, cached by content). queries: JSONL. qrels: TREC or
    BEIR form, the required skills being those with a grade above 0. graded_qrels: grades for nDCG alone.
    """

    corpus: str
    queries: str | None = None
    qrels: str | None = None
    graded_qrels: str | None = None
    split: str | None = None
    name: str = "files"
    format: str = "auto"

    def load(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The queries of `split`, or all of them."""
        return self.load_all(cache, unknown=unknown).split(self.split)

    def load_all(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """Every query. Raises UserError if neither the source nor a file gives queries or qrels."""
        queries = read_queries(self.queries) if self.queries else None
        required = required_from(read_qrels(self.qrels)) if self.qrels else None
        grades = read_qrels(self.graded_qrels) if self.graded_qrels else None
        corpus, own_queries, own_qrels = open_corpus([self.corpus], cache, self.format)
        asked = queries.queries if queries else own_queries
        if not asked:
            raise UserError(
                "config", "data.queries", fix=f"{self.corpus} holds no queries; give data.queries=FILE.jsonl"
            )
        declared = queries.required if queries else own_qrels.required
        right = {**declared, **required} if required is not None else declared
        if not right:
            raise UserError("config", "data.qrels", fix="nothing says which skills are right; give data.qrels=FILE.tsv")
        qrels = Qrels(right, grades if grades is not None else own_qrels.grades if queries is None else {})
        return make_benchmark(self.name, corpus, asked, qrels, unknown=unknown or "error", place=self.qrels or "data")


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class SkillsBenchData:
    """The 75 scored SkillsBench tasks over the real pool: core qrels for Hit, MRR, Recall and FC, graded for nDCG."""

    pool: Literal["main", "all"] = "main"

    def load(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The scored tasks over $SKILLFIT_DATA's skills.jsonl.gz (`pool=all` adds skills_extra.jsonl.gz)."""
        root = data_root()
        table = read_queries(root / "skillsbench" / "queries.jsonl")
        core = required_from(read_qrels(root / "skillsbench" / "qrels_core.tsv"))
        graded = read_qrels(root / "skillsbench" / "qrels.tsv")
        queries = [query for query in table.queries if query.query_id in core]
        qrels = Qrels(core, {query.query_id: graded.get(query.query_id, {}) for query in queries})
        corpus, _, _ = open_corpus(pool_files(root, self.pool), cache)
        name = "skillsbench" if self.pool == "main" else f"skillsbench-{self.pool}"
        return make_benchmark(name, corpus, queries, qrels, unknown=unknown or "error", place="data=skillsbench")

    def load_all(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The same tasks: they name no split, so a training job refuses them by its `train_split`."""
        return self.load(cache, unknown=unknown)


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class TriggerData:
    """Trigger queries that skill authors wrote, clean positives only (label 1, not templated, not naming the skill)."""

    pool: Literal["main", "all"] = "main"
    part: Literal["train", "test"] = "test"

    def load(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """One query a distinct text, over the real pool; skills outside it are dropped and counted by default."""
        root = data_root()
        corpus, _, _ = open_corpus(pool_files(root, self.pool), cache)
        known = None if unknown == "error" else set(corpus.ids)
        table = read_triggers(root / "triggers" / f"{self.part}.jsonl", known=known)
        name = f"triggers-{self.part}" if self.pool == "main" else f"triggers-{self.part}-{self.pool}"
        place, qrels = "data=triggers", Qrels(table.required)
        made = make_benchmark(name, corpus, table.queries, qrels, unknown="error", place=place)
        return replace(made, facts={**made.facts, "trigger_rows": dict(table.counts)})

    def load_all(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The same queries: they name no split, so a training job refuses them by its `train_split`."""
        return self.load(cache, unknown=unknown)


def pool_files(root: Path, pool: str) -> list[str]:
    """The files of the real pool. Raises UserError for one that is missing."""
    paths = [root / name for name in POOLS[pool]]
    for path in paths:
        if not path.is_file():
            raise UserError(path, fix="is missing; check SKILLFIT_DATA")
    return [str(path) for path in paths]


def open_corpus(sources: Sequence[str], cache: Path, format: str = "auto") -> tuple[Corpus, list[Query], Qrels]:
    """A corpus with its source's queries and qrels: an imported folder, or an import made once into the cache."""
    if len(sources) == 1 and is_imported(sources[0]):
        return load_imported(Path(sources[0]))
    return load_imported(import_cached(sources, cache, ImportOptions(format=format)))
