"""A toy benchmark and a run of the retriever's fitter on it, for the tests of training."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np

from fakes import WORDS, ListPool
from skillfit.data.benchmark import Benchmark, make_benchmark
from skillfit.data.views import TextView
from skillfit.provenance import RunFolder
from skillfit.training.options import TrainerOptions
from skillfit.training.retriever import RetrieverFitter
from skillfit.types import Qrels, Query, Skill

VIEW = TextView(name="full", fields=("name", "description", "body"))
TOPICS = list(combinations(WORDS[:9], 2))[:30]


def toy_benchmark() -> Benchmark:
    """Thirty skills about a pair of words; train and dev queries use the pair among noise words."""
    rng = np.random.default_rng(0)

    def noisy(pair: tuple[str, str]) -> str:
        return " ".join(rng.permutation([*pair, *rng.choice(WORDS[20:], 6)]))

    skills = [Skill(f"s/{a}-{b}", f"{a}-{b}", noisy((a, b)), noisy((a, b))) for a, b in TOPICS]
    queries, required = [], {}
    for number, (skill, pair) in enumerate(zip(skills, TOPICS, strict=True)):
        split = "dev" if number % 3 == 0 else "train"
        for repeat in range(2):
            query = Query(f"q{number}-{repeat}", noisy(pair), {"split": split})
            queries.append(query)
            required[query.query_id] = frozenset({skill.skill_id})
    queries.append(Query("nothing", "the a to of", {"split": "train"}))
    required["nothing"] = frozenset()
    return make_benchmark("toy", ListPool(skills), queries, Qrels(required), unknown="error", place="toy")


def fit(
    folder: Path,
    benchmark: Benchmark,
    model: Path,
    *,
    epochs: int = 4,
    seed: int = 0,
    trainer: dict[str, object] | None = None,
    resume: bool = False,
    **options: object,
) -> RunFolder:
    run = RunFolder.claim(folder, job="train", config={}, seed=seed, resume=resume)
    try:
        settings = {"learning_rate": 2e-3, "batch_size": 16, "dropout": 0.0, **options}
        fitter = RetrieverFitter(view=VIEW, model=str(model), cache=folder.parent / "cache", **settings)
        loop = TrainerOptions(max_epochs=epochs, **(trainer or {}))
        fitter.fit(benchmark, fitter.check(benchmark, [], loop, seed), loop, False, run)
        run.finish()
    finally:
        run.release()
    return run


def dev_values(run: RunFolder, metric: str = "nDCG@10") -> list[float]:
    rows = json.loads((run.path / "metrics.json").read_text())["rows"]
    return [row["value"] for row in rows if row["metric"] == metric]
