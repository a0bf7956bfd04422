"""`report.html` of a run folder or of a comparison: one file that opens anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skillfit.analysis.compare import CompareOptions, Comparison, compare
from skillfit.analysis.comparison_page import comparison_page
from skillfit.analysis.folder import read_folder
from skillfit.analysis.render import Page, render
from skillfit.analysis.run_page import run_page
from skillfit.io import atomic_dir, atomic_write, write_json

REPORT, COMPARISON = "report.html", "comparison.json"


def write_report(run_folder: Path | str) -> Path:
    """Draw a run folder's report into it, in place of an earlier one; returns its path.

    The job itself calls this while its folder is still marked running. Raises UserError for a folder without numbers.
    """
    folder = Path(run_folder)
    return write_page(run_page(read_folder(folder, finished=False)), folder / REPORT)


def write_comparison(
    folders: Sequence[Path | str],
    baseline: Path | str | None,
    out: Path | str,
    options: CompareOptions | None = None,
) -> Path:
    """Compare run folders and leave `comparison.json` and `report.html` in `out`; returns the report's path.

    Raises UserError for folders that cannot be compared, or if `out` holds anything already.
    """
    return save_comparison(compare(folders, baseline, options), out)


def save_comparison(comparison: Comparison, out: Path | str) -> Path:
    """Write a comparison's numbers and report into a new or empty folder; returns the report's path."""
    with atomic_dir(out) as folder:
        write_json(folder / COMPARISON, comparison.as_json())
        write_page(comparison_page(comparison), folder / REPORT)
    return Path(out) / REPORT


def write_page(page: Page, path: Path) -> Path:
    """Write a page as one HTML file; returns its path."""
    with atomic_write(path) as handle:
        handle.write(render(page))
    return path
