"""The whole line on the embedded data, as the jobs a user would run: `skillfit demo` (see conf/demo.yaml)."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig

from skillfit.cli.app import job, set_up_logging
from skillfit.cli.config_check import PACKAGE
from skillfit.errors import UserError
from skillfit.io.files import refuse_nonempty

BASELINE = "dense-full"


@job("demo")
def main(cfg: DictConfig) -> None:
    """Run every step in a fresh folder with a cache of its own, and end stdout with the path of the report."""
    set_up_logging(verbose=True)
    root = PACKAGE.parent.parent
    if not (root / "evaluate.py").is_file():
        raise UserError("skillfit demo", fix="needs a checkout of the repository: it runs train.py and evaluate.py")
    out = Path(cfg.out).resolve()
    refuse_nonempty(out)
    started = time.monotonic()
    for number, (title, command) in enumerate(steps(out, root, int(cfg.seed)), start=1):
        sys.stdout.write(f"\n[{number}] {title}\n    {_shown(command, root)}\n")
        sys.stdout.flush()
        done = subprocess.run(command)
        if done.returncode:
            raise UserError(f"step {number}", title, fix=f"ended with code {done.returncode}; its message is above")
    sys.stdout.write(f"\ndone in {time.monotonic() - started:.0f} s\n{out / 'report' / 'report.html'}\n")


def steps(out: Path, root: Path, seed: int) -> Iterator[tuple[str, list[str]]]:
    """The titles and commands of the demo, in order."""
    skillfit = [sys.executable, "-m", "skillfit.cli.main"]
    data = ["data=files", f"data.corpus={_value(out / 'data')}", "data.name=skillfit-mini"]
    shared = [*data, f"seed={seed}", f"cache={_value(out / 'cache')}"]

    def evaluate(system: str, *settings: str) -> list[str]:
        folder = f"hydra.run.dir={_value(out / system)}"
        test = ["data.split=test", f"system={system}", folder]
        return [sys.executable, str(root / "evaluate.py"), "suite=routing", *settings, *shared, *test]

    yield "import the embedded skills", [*skillfit, "import", "source=mini", f"out={_value(out / 'data')}"]
    yield "evaluate BM25 over full texts", evaluate("lexical-full", "retriever=lexical", "view=full")
    yield "evaluate the untrained model, name and description", evaluate("dense-nd", "retriever=dense", "view=nd")
    yield "evaluate the untrained model, full texts", evaluate(BASELINE, "retriever=dense", "view=full")
    train = [sys.executable, str(root / "train.py"), "component=retriever", "experiment=mini"]
    yield "fine-tune it on the train queries", [*train, *shared, f"hydra.run.dir={_value(out / 'train')}"]
    tuned = f"retriever.model={_value(out / 'train' / 'model')}"
    yield "evaluate the tuned model", evaluate("dense-tuned", "retriever=dense", tuned, "view=full")
    runs = ",".join(_value(out / system) for system in (BASELINE, "dense-tuned", "dense-nd", "lexical-full"))
    report = [f"runs=[{runs}]", f"baseline={BASELINE}", f"out={_value(out / 'report')}"]
    yield "compare with the untrained model", [*skillfit, "report", *report]


def _value(path: Path) -> str:
    """A path as a value on Hydra's command line, quoted only if it holds what Hydra's grammar reads as syntax."""
    text = str(path)
    if re.fullmatch(r"[\w./~-]+", text, re.ASCII):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _shown(command: list[str], root: Path) -> str:
    """The command as a user would type it in the checkout."""
    words = ["skillfit"] if command[1:3] == ["-m", "skillfit.cli.main"] else ["python", Path(command[1]).name]
    rest = command[3:] if words == ["skillfit"] else command[2:]
    return shlex.join([*words, *(word.replace(f"{root}/", "") for word in rest)])


if __name__ == "__main__":
    main()
