"""The benchmarks a config can name: the embedded one, files of your own, SkillsBench and trigger queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.asked import judgements_at, queries_at
from skillfit.data.benchmark import SPLIT, Benchmark, Unknown, data_root, make_benchmark
from skillfit.data.corpus import Corpus
from skillfit.data.importer import import_cached
from skillfit.data.native import is_imported, load_imported, open_imported
from skillfit.data.options import ImportOptions
from skillfit.data.queries import QuerySet, read_queries, read_triggers
from skillfit.data.splits import dev_skills, reduced, with_split
from skillfit.errors import UserError
from skillfit.io.qrels import read_qrels, required_from
from skillfit.types import Qrels

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
        queries = queries_at(self.queries) if self.queries else None
        required = required_from(judgements_at(self.qrels)) if self.qrels else None
        grades = judgements_at(self.graded_qrels) if self.graded_qrels else None
        corpus, own = open_corpus([self.corpus], cache, self.format)
        table = queries or own
        asked = table.queries
        if not asked:
            raise UserError(
                "config", "data.queries", fix=f"{self.corpus} holds no queries; give data.queries=FILE.jsonl"
            )
        added = {query: skills for query, skills in (required or {}).items() if query not in table.unscored}
        right = {**table.required, **added}
        if not right:
            raise UserError("config", "data.qrels", fix="nothing says which skills are right; give data.qrels=FILE.tsv")
        qrels = Qrels(right, grades if grades is not None else table.grades)
        place = self.qrels or "data"
        made = make_benchmark(self.name, corpus, asked, qrels, unknown=unknown or "error", place=place)
        return replace(made, facts={**made.facts, "unscored": len(table.unscored)})


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
        corpus, _ = open_corpus(pool_files(root, self.pool), cache)
        name = "skillsbench" if self.pool == "main" else f"skillsbench-{self.pool}"
        return make_benchmark(name, corpus, queries, qrels, unknown=unknown or "error", place="data=skillsbench")

    def load_all(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The same tasks: they name no split, so a training job refuses them by its `train_split`."""
        return self.load(cache, unknown=unknown)


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class TriggerData:
    """Trigger queries that skill authors wrote: positives that are neither templated nor name the skill.

    part: the test file, or of the train file the part to train on or the dev part: dev_share of its skills, split by
    skill, name and copies with split_seed. A skill that its author says a text must not trigger is graded 0 for it.
    clean false keeps templated texts and those that name the skill, in training alone. pool_size, train_queries: a
    seeded part of the pool and of the training queries, for cheap experiments.
    """

    pool: Literal["main", "all"] = "main"
    part: Literal["train", "dev", "test"] = "test"
    dev_share: float = Field(default=0.1, gt=0, lt=1)
    split_seed: int = Field(default=0, ge=0)
    clean: bool = True
    pool_size: int | None = Field(default=None, ge=1)
    train_queries: int | None = Field(default=None, ge=1)

    def load(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """One query a distinct text, over the real pool; skills outside it are dropped and counted by default."""
        if self.part != "test":
            return self.load_all(cache, unknown=unknown).split(self.part)
        return reduced(self._benchmark("test", cache, unknown), pool=self.pool_size, train=None)

    def load_all(self, cache: Path, *, unknown: Unknown | None) -> Benchmark:
        """The queries of the train file, each in the split `train` or `dev`."""
        every = self._benchmark("train", cache, unknown, clean=False)
        found = self._benchmark("train", cache, unknown)
        right = found.qrels.required
        skills = {skill for row in every.qrels.required.values() for skill in row}
        dev = dev_skills(skills, right.values(), found.corpus, share=self.dev_share, seed=self.split_seed)
        queries = with_split(found.queries, right, dev)
        if not self.clean:
            clean = {query.query_id for query in queries}
            rest = with_split((q for q in every.queries if q.query_id not in clean), every.qrels.required, dev)
            queries += [query for query in rest if query.groups[SPLIT] == "train"]
            found = replace(every, qrels=Qrels({**every.qrels.required, **right}, every.qrels.grades))
        made = replace(found, queries=tuple(queries), facts={**found.facts, "dev_skills": len(dev)})
        return reduced(made, pool=self.pool_size, train=self.train_queries)

    def _benchmark(self, part: str, cache: Path, unknown: Unknown | None, *, clean: bool = True) -> Benchmark:
        root = data_root()
        corpus, _ = open_corpus(pool_files(root, self.pool), cache)
        known = None if unknown == "error" else set(corpus.ids)
        table = read_triggers(root / "triggers" / f"{part}.jsonl", known=known, clean=clean)
        name = f"triggers-{part}" if self.pool == "main" else f"triggers-{part}-{self.pool}"
        place, qrels = "data=triggers", Qrels(table.required, table.grades)
        made = make_benchmark(name, corpus, table.queries, qrels, unknown="error", place=place)
        return replace(made, facts={**made.facts, "trigger_rows": dict(table.counts)})


def pool_files(root: Path, pool: str) -> list[str]:
    """The files of the real pool. Raises UserError for one that is missing."""
    paths = [root / name for name in POOLS[pool]]
    for path in paths:
        if not path.is_file():
            raise UserError(path, fix="is missing; check SKILLFIT_DATA")
    return [str(path) for path in paths]


def open_corpus(sources: Sequence[str], cache: Path, format: str = "auto") -> tuple[Corpus, QuerySet]:
    """A corpus with its source's queries: an imported folder, or an import made once into the cache."""
    places = [str(Path(source).expanduser()) for source in sources]
    if len(places) == 1 and is_imported(places[0]):
        return open_imported(Path(places[0]))
    return open_imported(import_cached(places, cache, ImportOptions(format=format)))


def protected_benchmarks(names: Sequence[str], own: Benchmark, cache: Path) -> list[Benchmark]:
    """What training must not touch: the benchmark's own `test` split if it has one, and what the names stand for.

    names: mini, skillsbench, triggers (their test queries) or a path with queries and judgements. Raises UserError for
    any other name.
    """
    known: dict[str, MiniData | SkillsBenchData | TriggerData] = {
        "mini": MiniData(),
        "skillsbench": SkillsBenchData(),
        "triggers": TriggerData(),
    }
    found = [own.split("test")] if "test" in own.splits() else []
    for name in names:
        if name in known:
            found.append(known[name].load(cache, unknown=None))
        elif Path(name).expanduser().exists():
            found.append(FilesData(corpus=name, name=name).load(cache, unknown="drop"))
        else:
            raise UserError("config", "protect", name, f"use {', '.join(known)} or the path of an importable benchmark")
    return found
