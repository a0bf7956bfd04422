"""The whole real pool: counts, memory, copies against the published list, and kills at any moment."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from skillfit.data.importer import import_cached, import_skills, load_imported
from skillfit.errors import UserError

pytestmark = pytest.mark.slow
GIB = 1024**3
CHILD = """
import json, resource, sys
from skillfit.data.importer import import_skills, load_imported
summary = import_skills(sys.argv[2:], sys.argv[1])
corpus, _, _ = load_imported(sys.argv[1])
characters = sum(len(skill.body) for skill in corpus)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"counts": [summary.found, summary.loaded, summary.repaired, summary.skipped], "peak": peak,
                  "skills": len(corpus), "characters": characters}))
"""


def run_child(out: Path, sources: list[Path]) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", CHILD, str(out), *map(str, sources)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    return dict(json.loads(done.stdout))


def test_both_files_within_two_gibibytes(skillfit_data: Path, tmp_path: Path) -> None:
    told = run_child(tmp_path / "out", [skillfit_data / "skills.jsonl.gz", skillfit_data / "skills_extra.jsonl.gz"])
    found, loaded, repaired, skipped = told["counts"]
    assert found == loaded + repaired + skipped == 11_715 + 12_799
    assert told["skills"] == loaded + repaired == 24_514
    assert told["characters"] > 150_000_000
    assert told["peak"] < 2 * GIB
    corpus, _, _ = load_imported(tmp_path / "out")
    _compare_with_published_near_copies(skillfit_data, corpus.copies())


def _compare_with_published_near_copies(data: Path, copies: dict[str, frozenset[str]]) -> None:
    """The published similarities count words a little differently, so only pairs clear of the threshold must agree."""
    clear = 0
    with (data / "skillsbench" / "near_duplicates.tsv").open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            similarity = float(row["similarity"])
            if abs(similarity - 0.7) > 0.03:
                clear += 1
                assert (row["docid"] in copies.get(row["gt_docid"], ())) == (similarity >= 0.7), row
    assert clear > 50


def test_main_file_alone(skillfit_data: Path, tmp_path: Path) -> None:
    summary = import_skills([skillfit_data / "skills.jsonl.gz"], tmp_path / "out")
    assert (summary.found, summary.skills, summary.skipped) == (11_715, 11_715, 0)
    corpus, _, _ = load_imported(tmp_path / "out")
    assert corpus.get("gt/pdf").body == ""  # withheld bodies stay empty, and are no copies of each other
    assert "gt/pdf" not in corpus.copies()


def test_a_kill_at_any_moment_leaves_nothing_that_is_trusted(skillfit_data: Path, tmp_path: Path) -> None:
    source = tmp_path / "pool.jsonl"
    rows = [
        {"id": f"s{i}", "name": f"n{i}", "body": " ".join(f"w{(i * 7919 + j) % 99_991}" for j in range(800))}
        for i in range(4_000)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = "import sys; from skillfit.data.importer import import_cached; import_cached([sys.argv[1]], sys.argv[2])"
    cache = tmp_path / "cache"
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", code, str(source), str(tmp_path / "whole")], check=True)
    whole = time.monotonic() - started
    finished = next((tmp_path / "whole" / "imports").iterdir())
    rng, unfinished = random.Random(7), 0
    for _ in range(25):
        child = subprocess.Popen([sys.executable, "-c", code, str(source), str(cache)])
        time.sleep(rng.uniform(0.2, 1.0) * whole)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        folder = cache / "imports" / finished.name
        if not folder.exists():
            unfinished += 1
            with pytest.raises(UserError):
                load_imported(folder)
            continue
        assert len(load_imported(folder)[0]) == 4_000  # what is there is complete
        folder.rename(tmp_path / f"done-{rng.random()}")
    assert unfinished > 5
    assert len(load_imported(import_cached([source], cache))[0]) == 4_000
