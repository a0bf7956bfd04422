"""Fine-tuning a retriever: skillfit against sentence-transformers' own trainer, in one run.

Both sides get the same pairs, model (all-MiniLM-L6-v2), batch of 32, window of 256 tokens, loss (InfoNCE at temperature
0.05 over in-batch negatives), learning rate, schedule and number of steps, each in a process of its own, one after the
other. Pairs a second leave out loading and evaluation. The resulting models are then evaluated by the same command on
the same dev queries.

    python benchmarks/retriever_training.py                      # both in float32
    python benchmarks/retriever_training.py --precision bf16     # both under bf16 autocast
    python benchmarks/retriever_training.py --ours fastest       # skillfit's fastest setting against theirs as it comes

With SKILLFIT_DATA set the pairs are real trigger queries, otherwise skillfit-mini's.
The last line is `ratio=X.XX ndcg_ours=0.XXXX ndcg_theirs=0.XXXX`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BATCH, LENGTH, RATE, SEED = 32, 256, 5e-5, 0
# What each setting of skillfit's changes: attention dropout leaves the fast kernel of the CPU, so it is off in all of
# them; bf16 halves the work of matrices; without any dropout nothing is drawn.
OURS = {
    "fp32": ["component.attention_dropout=0.0"],
    "bf16": ["component.attention_dropout=0.0", "trainer.precision=bf16-mixed"],
    "fastest": ["component.dropout=0.0", "trainer.precision=bf16-mixed"],
}


@dataclass
class Result:
    """pairs_per_second of the training steps alone; peak of the whole process in gigabytes."""

    pairs_per_second: float
    gigabytes: float
    ndcg: float


def main() -> None:
    """Run both sides and print the figures."""
    options = arguments()
    if options.side == "theirs":
        train_theirs(Path(options.folder), options.steps, bf16=options.precision == "bf16")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        what = write_data(folder, options.steps * BATCH, options.pool, options.dev)
        print(f"{what}; {options.steps} steps of {BATCH} pairs, {LENGTH} tokens, {os.cpu_count()} cores")
        theirs = run_theirs(folder, options)
        ours = run_ours(folder, options)
    for side, result in (("sentence-transformers", theirs), ("skillfit", ours)):
        print(
            f"{side:>22}: {result.pairs_per_second:.2f} pairs/s, peak {result.gigabytes:.2f} GB, "
            f"dev nDCG@10 {result.ndcg:.4f}"
        )
    ratio = ours.pairs_per_second / theirs.pairs_per_second
    print(f"memory: {ours.gigabytes / theirs.gigabytes:.2f} of theirs")
    print(f"ratio={ratio:.2f} ndcg_ours={ours.ndcg:.4f} ndcg_theirs={theirs.ndcg:.4f}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="of both sides")
    parser.add_argument("--ours", choices=("same", "fastest"), default="same", help="skillfit's setting")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pool", type=int, default=400, help="skills that the dev queries are ranked over")
    parser.add_argument("--dev", type=int, default=200, help="dev queries at most")
    parser.add_argument("--side", choices=("theirs",), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def write_data(folder: Path, pairs: int, pool: int, dev: int) -> str:
    """Write skills.jsonl and queries.jsonl (train and dev, no skill in both); returns what they are."""
    import numpy as np

    from skillfit.data.importer import import_cached
    from skillfit.data.named import mini_source, pool_files
    from skillfit.data.native import load_imported
    from skillfit.data.queries import read_triggers

    data = os.environ.get("SKILLFIT_DATA")
    cache = Path(os.environ.get("SKILLFIT_CACHE") or folder / "cache")
    source = pool_files(Path(data), "main") if data else [str(mini_source())]
    corpus, queries, qrels = load_imported(import_cached(source, cache))
    required = dict(qrels.required)
    if data:
        table = read_triggers(Path(data) / "triggers" / "train.jsonl", known=set(corpus.ids))
        queries, required = list(table.queries), dict(table.required)
    judged = [query for query in queries if len(required.get(query.query_id, ())) == 1]
    skills = sorted({skill for query in judged for skill in required[query.query_id]})
    draw = np.random.default_rng(SEED)
    held_out = set(draw.permutation(skills)[: max(1, len(skills) // 5)].tolist())
    order = [judged[i] for i in draw.permutation(len(judged))]
    chosen = {
        "train": [query for query in order if not required[query.query_id] & held_out][:pairs],
        "dev": [query for query in order if required[query.query_id] & held_out][:dev],
    }
    needed = {skill for group in chosen.values() for query in group for skill in required[query.query_id]}
    dev_skills = {skill for query in chosen["dev"] for skill in required[query.query_id]}
    others = [skill for skill in draw.permutation(corpus.ids).tolist() if skill not in needed]
    kept = sorted(needed | set(others[: max(0, pool - len(dev_skills))]))
    with (folder / "skills.jsonl").open("w", encoding="utf-8") as handle:
        for skill in map(corpus.get, kept):
            row = {"skill_id": skill.skill_id, "name": skill.name, "description": skill.description, "body": skill.body}
            handle.write(json.dumps(row) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as handle:
        for split, group in chosen.items():
            for query in group:
                skill = sorted(required[query.query_id])
                row = {"query_id": query.query_id, "text": query.text, "required": skill, "split": split}
                handle.write(json.dumps(row) + "\n")
    name = "trigger queries" if data else "skillfit-mini"
    return f"{name}: {len(chosen['train'])} pairs, {len(chosen['dev'])} dev queries over {len(kept)} skills"


def run_ours(folder: Path, options: argparse.Namespace) -> Result:
    """Train through train.py, as a user would."""
    setting = OURS["fastest" if options.ours == "fastest" else options.precision]
    out = folder / "ours"
    command = [
        sys.executable, str(ROOT / "train.py"), "component=retriever", *data_of(folder), f"hydra.run.dir={out}",
        f"component.learning_rate={RATE}", f"component.batch_size={BATCH}", f"component.max_length={LENGTH}",
        "component.measures=[nDCG@10]", "trainer.max_epochs=1000", f"trainer.max_steps={options.steps}", *setting,
    ]  # fmt: skip
    peak = run(command)
    rows = [line.split(",") for line in (out / "log" / "metrics.csv").read_text(encoding="utf-8").splitlines()]
    column = rows[0].index("train/pairs_per_second")
    speed = [float(row[column]) for row in rows[1:] if row[column]][-1]
    return Result(speed, peak, evaluate(folder, out / "model", "ours"))


def run_theirs(folder: Path, options: argparse.Namespace) -> Result:
    """Train through SentenceTransformerTrainer."""
    script, precision = str(Path(__file__).resolve()), options.precision
    command = [sys.executable, script, "--side=theirs", f"--folder={folder}", f"--steps={options.steps}"]
    if options.ours == "fastest":
        precision = "fp32"
    peak = run([*command, f"--precision={precision}"])
    speed = json.loads((folder / "theirs.json").read_text(encoding="utf-8"))["pairs_per_second"]
    return Result(speed, peak, evaluate(folder, folder / "theirs", "theirs"))


def train_theirs(folder: Path, steps: int, *, bf16: bool) -> None:
    """The peer's side, in its own process."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import TrainerCallback

    from skillfit.data.views import TextView
    from skillfit.models.source import embedded_folder
    from skillfit.types import Skill

    view = TextView(name="full", fields=("name", "description", "body"))
    lines = (folder / "skills.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["skill_id"]: view.skill_text(Skill(**row)) for row in map(json.loads, lines)}
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    train = [row for row in rows if row["split"] == "train"]
    data = Dataset.from_dict(
        {
            "query": [view.query_text(row["text"]) for row in train],
            "document": [texts[row["required"][0]] for row in train],
        }
    )
    model = SentenceTransformer(str(embedded_folder()), device="cpu")
    model.max_seq_length = LENGTH

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, *_: object, **__: object) -> None:
            self.start = time.perf_counter()

        def on_train_end(self, *_: object, **__: object) -> None:
            self.seconds = time.perf_counter() - self.start

    clock = Clock()
    settings = SentenceTransformerTrainingArguments(
        output_dir=str(folder / "theirs-runs"),
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        learning_rate=RATE,
        weight_decay=0.01,
        warmup_steps=round(0.1 * steps),
        lr_scheduler_type="linear",
        bf16=bf16,
        use_cpu=True,
        seed=SEED,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
    )
    loss = MultipleNegativesRankingLoss(model, scale=20.0)
    SentenceTransformerTrainer(model, args=settings, train_dataset=data, loss=loss, callbacks=[clock]).train()
    model.save_pretrained(str(folder / "theirs"), create_model_card=False)
    figures = {"pairs_per_second": steps * BATCH / clock.seconds}
    (folder / "theirs.json").write_text(json.dumps(figures), encoding="utf-8")


def evaluate(folder: Path, model: Path, name: str) -> float:
    """nDCG@10 over the dev queries, by evaluate.py."""
    out = folder / f"{name}-dev"
    command = [
        sys.executable, str(ROOT / "evaluate.py"), *data_of(folder), "data.split=dev", "retriever=dense",
        f"retriever.model={model}", f"retriever.max_length={LENGTH}", f"hydra.run.dir={out}",
    ]  # fmt: skip
    run(command)
    rows = json.loads((out / "metrics.json").read_text(encoding="utf-8"))["rows"]
    return next(float(row["value"]) for row in rows if row["metric"] == "nDCG@10" and row["group"] == "all")


def data_of(folder: Path) -> list[str]:
    """The data as both jobs are told of it."""
    return [
        "data=files", f"data.corpus={folder / 'skills.jsonl'}", f"data.queries={folder / 'queries.jsonl'}",
        f"cache={folder / 'cache'}", "view=full", "caps=release",
    ]  # fmt: skip


def run(command: list[str]) -> float:
    """Run a command and return its peak memory in gigabytes; its output is shown if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            log.seek(0)
            sys.exit(f"{' '.join(command)}\nfailed:\n{log.read()}")
    return usage.ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
