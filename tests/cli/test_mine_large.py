"""Mining over 80,000 skills stays within 4 GB: recombined skillfit-mini texts, BM25, clusters and the filter."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillfit.data.corpus import Corpus, hash_row, hash_rows, row_of, write_rows
from skillfit.data.named import MiniData
from skillfit.data.native import CORPUS, write_manifest, write_queries
from skillfit.data.queries import QuerySet
from skillfit.io import read_json
from skillfit.io.files import atomic_dir
from skillfit.types import Query, Skill

SKILLS, QUERIES, SEED = 80_000, 1_000, 0
MOST_GIB = 4.0
# ru_maxrss of a child counts what its parent had at the fork, so the peak is read from within.
SCRIPT = """
import resource, sys
from skillfit.cli.mine import main
sys.argv = ["skillfit mine", *sys.argv[1:]]
main()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def recombined(cache: Path, rng: random.Random) -> Iterator[Skill]:
    """Skills in ascending order of id, of lines that 180 skills wrote, some 600 words each, 120 of them their own."""
    mini = MiniData().load_all(cache, unknown=None).corpus
    sources = list(mini)
    lines = [line for skill in sources for line in skill.body.splitlines() if line.strip()]
    vocabulary = sorted({word for line in lines for word in line.split()})
    for i in range(SKILLS):
        one, other = rng.choice(sources), rng.choice(sources)
        own = " ".join(f"{rng.choice(vocabulary)}{rng.randrange(50)}" for _ in range(120))
        body = "\n".join([*rng.sample(lines, 60), own])
        yield Skill(f"s{i:05}", f"{one.name}-{i}", f"{one.description} {other.description}", body)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported folder of 80,000 skills; the import's search for copies is tested elsewhere."""
    rng, cache = random.Random(SEED), tmp_path_factory.mktemp("cache")
    folder, hashes = tmp_path_factory.mktemp("pool") / "pool", []

    def rows():
        for skill in recombined(cache, rng):
            row = row_of(skill)
            hashes.append((skill.skill_id, hash_row(row)))
            yield row

    with atomic_dir(folder) as work:
        write_rows(work / CORPUS, rows())
        corpus = Corpus(work / CORPUS, hash_rows(hashes))
        asked, required = [], {}
        for number in range(QUERIES):
            skill = corpus.get(rng.choice(corpus.ids))
            words = skill.description.split() + skill.body.split()[:40]
            query_id = f"q{number}"
            asked.append(Query(query_id, " ".join(rng.sample(words, 25)), {"split": "train"}))
            required[query_id] = frozenset({skill.skill_id})
        write_queries(work, QuerySet(tuple(asked), required))
        write_manifest(work, {"content_hash": corpus.content_hash})
    return folder


@pytest.mark.slow
def test_mining_80_000_skills_takes_less_than_4_gib(pool, tmp_path, record_property):
    mix = ["~mix.kinds.semantic", "+mix.kinds.random.count=4"]
    settings = [*mix, "data=files", f"data.corpus={pool}", "categories.by=clusters", "out=mined"]
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *settings],
        cwd=tmp_path,
        env=os.environ | {"SKILLFIT_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    seconds, gib = time.monotonic() - started, int(done.stdout.split()[-1]) / 2**20
    bodies = (pool / CORPUS).stat().st_size / 2**30
    record_property("peak", f"{gib:.2f} GiB, {seconds:.0f} s, corpus {bodies:.2f} GiB")
    sys.stderr.write(f"peak {gib:.2f} GiB, {seconds:.0f} s, corpus file {bodies:.2f} GiB\n{done.stderr}")
    counts = read_json(tmp_path / "mined" / "manifest.json")["counts"]
    assert counts["queries"]["kept"] == QUERIES
    assert counts["written"] == 10 * QUERIES
    assert gib < MOST_GIB
