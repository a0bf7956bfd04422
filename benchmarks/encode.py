"""Encoding documents: skillfit against SentenceTransformer.encode as it comes, in one run.

Both sides get the same long documents, model (all-MiniLM-L6-v2), batch of 32 and window of 256 tokens. Each measurement
is a process of its own; the sides take turns and the median counts. Documents a second leave out loading.

    python benchmarks/encode.py                                  # skillfit in float32 and in bfloat16
    python benchmarks/encode.py --documents 64 --repeats 1       # a short run

With SKILLFIT_DATA set the documents are real skills, otherwise skillfit-mini's bodies put together anew.
The last line is `ratio=X.XX cosine=Y.YYYYY`, of bfloat16 where the processor gains by it; cosine is the smallest one
to the float32 vectors of the other side.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

import numpy as np

BATCH, WINDOW, SEED, WARM_UP = 32, 256, 0, 8
SIDES = ("sentence-transformers", "skillfit float32", "skillfit bfloat16")
Encode = Callable[[list[str]], np.ndarray]
LEAST = 2_000  # characters of a document made of skillfit-mini: more than the window holds


@dataclass
class Result:
    """One process: speed of the encoding alone, peak memory of the whole process."""

    documents_per_second: float
    gigabytes: float


def main() -> None:
    """Measure all sides and print the figures."""
    options = arguments()
    if options.side:
        measure(options.side, Path(options.folder), options.repeat)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        what = write_documents(folder, options.documents)
        print(f"{options.documents} documents of {what}, batch {BATCH}, {WINDOW} tokens, {os.cpu_count()} cores")
        results: dict[str, list[Result]] = {side: [] for side in SIDES}
        for repeat in range(options.repeats):
            for side in SIDES[repeat % 3 :] + SIDES[: repeat % 3]:
                results[side].append(run(side, folder, repeat))
        vectors = {side: np.load(folder / f"{side}.npy") for side in SIDES}
    theirs = SIDES[0]
    speeds = {side: median(result.documents_per_second for result in found) for side, found in results.items()}
    cosines = {side: smallest_cosine(vectors[theirs], vectors[side]) for side in SIDES}
    for side, found in results.items():
        peak = max(result.gigabytes for result in found)
        print(
            f"{side:>22}: {speeds[side]:.2f} docs/s ({speeds[side] / speeds[theirs]:.2f}), peak {peak:.2f} GB, "
            f"cosine {cosines[side]:.5f}"
        )
    ours = SIDES[2] if bfloat16_gains() else SIDES[1]
    print(f"ratio={speeds[ours] / speeds[theirs]:.2f} cosine={cosines[ours]:.5f}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--repeat", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def write_documents(folder: Path, count: int) -> str:
    """Write the documents, chosen by a fixed seed; returns what they are."""
    from skillfit.data.named import mini_source
    from skillfit.data.views import TextView
    from skillfit.types import Skill

    draw, data = random.Random(SEED), os.environ.get("SKILLFIT_DATA")
    if data:
        with gzip.open(Path(data) / "skills.jsonl.gz", "rt", encoding="utf-8") as handle:
            rows = draw.sample([line for line in handle if line.strip()], count)
        view = TextView(name="full", fields=("name", "description", "body"))
        skills = [Skill(r["skill_id"], r["name"], r["description"], r["body"]) for r in map(json.loads, rows)]
        texts, what = [view.skill_text(skill) for skill in skills], "real skills"
    else:
        files = sorted(mini_source().rglob("SKILL.md"))
        parts = [part for file in files for part in file.read_text(encoding="utf-8").split("\n\n")]
        texts, what = [combined(parts, draw) for _ in range(count)], "skillfit-mini, recombined"
    (folder / "documents.json").write_text(json.dumps(texts), encoding="utf-8")
    return what


def combined(parts: list[str], draw: random.Random) -> str:
    """Paragraphs drawn until the document is longer than the window."""
    text = draw.choice(parts)
    while len(text) < LEAST:
        text += "\n\n" + draw.choice(parts)
    return text


def run(side: str, folder: Path, repeat: int) -> Result:
    """One measurement in a process of its own; its output is shown if it fails."""
    script = str(Path(__file__).resolve())
    command = [sys.executable, script, "--side", side, "--folder", str(folder), "--repeat", str(repeat)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{side} failed:\n{done.stdout}{done.stderr}")
    return Result(**json.loads((folder / f"{side}.{repeat}.json").read_text(encoding="utf-8")))


def measure(side: str, folder: Path, repeat: int) -> None:
    """Encode the documents with one side and write vectors and figures."""
    texts = json.loads((folder / "documents.json").read_text(encoding="utf-8"))
    encode = theirs() if side == SIDES[0] else ours("bfloat16" if side == SIDES[2] else "float32")
    encode(texts[:WARM_UP])
    started = time.perf_counter()
    vectors = encode(texts)
    speed = len(texts) / (time.perf_counter() - started)
    np.save(folder / f"{side}.npy", vectors)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    figures = {"documents_per_second": speed, "gigabytes": peak}
    (folder / f"{side}.{repeat}.json").write_text(json.dumps(figures), encoding="utf-8")


def theirs() -> Encode:
    """SentenceTransformer.encode with nothing changed but the window."""
    from sentence_transformers import SentenceTransformer

    from skillfit.models.source import embedded_folder

    model = SentenceTransformer(str(embedded_folder()), device="cpu")
    model.max_seq_length = WINDOW
    return lambda texts: model.encode(texts, batch_size=BATCH, show_progress_bar=False)


def ours(dtype: Literal["float32", "bfloat16"]) -> Encode:
    """Our encoding as search uses it."""
    from skillfit.models.bi_encoder import BiEncoder

    encoder = BiEncoder.load("all-MiniLM-L6-v2", max_length=WINDOW, device="cpu")
    return lambda texts: encoder.encode(texts, "document", batch_size=BATCH, dtype=dtype)


def smallest_cosine(one: np.ndarray, other: np.ndarray) -> float:
    """The least cosine of two (n, H) arrays, row by row."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float(((one * other).sum(axis=1) / lengths).min())


def bfloat16_gains() -> bool:
    """Whether this processor multiplies bfloat16 faster."""
    from skillfit.models.precision import bf16_gains

    return bf16_gains("cpu")


if __name__ == "__main__":
    main()
