"""`skillfit <command> key=value …`: the jobs beside train.py and evaluate.py, each a Hydra app of its own."""

from __future__ import annotations

import sys
from importlib import import_module

from skillfit.errors import suggest

COMMANDS = {
    "import": ("skillfit.cli.import_skills", "turn folders, JSONL files or benchmarks into one checked corpus"),
    "mine": ("skillfit.cli.mine", "choose hard negatives for training from runs, categories and by chance"),
    "report": ("skillfit.cli.report", "compare evaluation runs: one table with differences, intervals and tests"),
    "cells": ("skillfit.cli.cells", "replay published table cells through the metric functions"),
    "demo": ("skillfit.cli.demo", "import, evaluate, fine-tune and compare on the embedded data"),
}


def main() -> None:
    """Run a command; without one, list them. Exit code 2 for a command that is not there."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(_usage())
        return
    name = arguments[0]
    if name == "--version":
        from skillfit import __version__

        sys.stdout.write(f"skillfit {__version__}\n")
        return
    if name not in COMMANDS:
        sys.stderr.write(f"error: skillfit {name}: no such command; {suggest(name, COMMANDS)}\n")
        sys.exit(2)
    sys.argv = [f"skillfit {name}", *arguments[1:]]
    import_module(COMMANDS[name][0]).main()


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {what}" for name, (_, what) in COMMANDS.items())
    return (
        f"usage: skillfit <command> key=value …\n\ncommands:\n{lines}\n\n"
        "`skillfit <command> --help` lists a command's settings. Training and evaluation: train.py and evaluate.py.\n"
    )


if __name__ == "__main__":
    main()
