"""Replay table cells: `skillfit cells FILE` (a path, no key=value settings)."""

from __future__ import annotations

import sys

from skillfit.cli.app import one_line_errors
from skillfit.errors import UserError

USAGE = """usage: skillfit cells FILE

Replays a file in the format of golden_cells.json through the metric functions: prints the cells reproduced for each
metric, each cell that failed with its reason, and ends with `N passed, M failed`. Exit code 1 if any failed.
"""


def main() -> None:
    """Print how many cells of each metric hold; exit code 1 if one does not, 2 for a file that is none of cells."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return
    with one_line_errors():
        if len(arguments) != 1:
            raise UserError(
                "skillfit cells", value=" ".join(arguments) or None, fix="give one file: skillfit cells FILE"
            )
        failed = _replay(arguments[0])
    if failed:
        sys.exit(1)


def _replay(path: str) -> int:
    from skillfit.evaluation.cells import replay_cells

    results = replay_cells(path)
    metrics = list(dict.fromkeys(result.metric for result in results))
    width = max(map(len, metrics), default=0)
    for metric in metrics:
        found = [result for result in results if result.metric == metric]
        sys.stdout.write(f"{metric:<{width}}  {sum(r.passed for r in found)} of {len(found)}\n")
    failed = [result for result in results if not result.passed]
    for result in failed:
        sys.stdout.write(f"failed: {result.cell_id}: {result.reason}\n")
    sys.stdout.write(f"{len(results) - len(failed)} passed, {len(failed)} failed\n")
    return len(failed)


if __name__ == "__main__":
    main()
