"""The page of a sweep: one table of its jobs."""

from __future__ import annotations

from pathlib import Path

from skillfit.analysis.render import Page, Section
from skillfit.analysis.report import REPORT, write_page
from skillfit.analysis.sweep import FINISHED, Sweep
from skillfit.io import atomic_dir, write_json

SWEEP = "sweep.json"


def sweep_page(sweep: Sweep) -> Page:
    """The report of a sweep."""
    best = f"best {sweep.best.name}" if sweep.best else "no job finished"
    return Page(
        kind="sweep",
        title=sweep.folder.name or str(sweep.folder),
        subtitle=best,
        facts=(f"{len(sweep.jobs):,} jobs tried", f"{sweep.count(FINISHED):,} finished"),
        sections=(Section("jobs", "Jobs", "sweep.html.j2", {"sweep": sweep}),),
        notices=tuple(sweep.notes()),
    )


def save_sweep(sweep: Sweep, out: Path | str) -> Path:
    """Write `sweep.json` and `report.html` into a new or empty folder; returns the report's path."""
    with atomic_dir(out) as folder:
        write_json(folder / SWEEP, sweep.as_json())
        write_page(sweep_page(sweep), folder / REPORT)
    return Path(out) / REPORT
