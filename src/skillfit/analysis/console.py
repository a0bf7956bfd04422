"""Console tables of a run and of a comparison; plain text where the output is no terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skillfit.analysis import numbers
from skillfit.analysis.compare import Comparison
from skillfit.analysis.folder import RunRecord, read_folder
from skillfit.analysis.sections import MINI_NOTICE, group_label, headline_groups
from skillfit.analysis.sweep import Sweep

WIDE = 110  # columns; with fewer, a comparison stacks intervals and p-values


def print_run(run_folder: Path | str, console: Console | None = None) -> None:
    """Print the headline table of each system in a run folder, by default to stdout."""
    record = read_folder(run_folder, finished=False)
    target = console or _stdout()
    for system in record.systems:
        _show(target, _run_table(record, system))
    _show_note(target, "Percent, with 95 % bootstrap intervals over queries.")
    if record.is_mini:
        _show_note(target, MINI_NOTICE)


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Print a table a metric: values on all shared queries and differences to the baseline, by default to stdout."""
    target = console or _stdout()
    for metric in comparison.metrics:
        _show(target, _comparison_table(comparison, metric, is_narrow=target.width < WIDE))
    _show_note(
        target,
        "Percent and points, with 95 % bootstrap intervals over queries. p: paired sign-flip test; Holm: corrected "
        "over the systems of a table; W/L/T: queries won, lost, tied; MDD: smallest difference this n can show.",
    )
    for note in (*comparison.notes, *([MINI_NOTICE] if comparison.systems[0].record.is_mini else [])):
        _show_note(target, note)


def print_sweep(sweep: Sweep, console: Console | None = None) -> None:
    """Print the table of a sweep's jobs, best first, then those without a metric, by default to stdout."""
    target = console or _stdout()
    table = _table(f"sweep {sweep.folder.name}", ["Job", *sweep.keys, sweep.monitor, "Status"])
    table.columns[-1].justify = "left"
    for job in sweep.ranked:
        value = "-" if job.metric is None else numbers.percent(job.metric)
        span = "" if job.low is None or job.high is None else f" {numbers.interval(job.low, job.high)}"
        settings = [job.settings.get(key, "") for key in sweep.keys]
        best = " (best)" if job is sweep.best else ""
        status = job.status + best + (f": {job.reason}" if job.reason else "")
        _add(table, [job.name, *settings, value + span, status])
    _show(target, table)
    for note in sweep.notes():
        _show_note(target, note)


def _stdout() -> Console:
    console = Console()
    # A file or a pipe has no width of its own; Rich would fold it as if it were a terminal of 80 columns.
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=WIDE)


def _run_table(record: RunRecord, system: str) -> Table:
    rows = [row for row in record.rows if row.system == system]
    cells = {(row.group, row.metric): row for row in rows}
    groups = headline_groups(rows)
    heads = [f"{group_label(group)}\nn = {next(row.n for row in rows if row.group == group):,}" for group in groups]
    table = _table(f"{record.benchmark}: {system}", ["Metric", *heads])
    for metric in record.metrics:
        found = [cells.get((group, metric)) for group in groups]
        values = [f"{numbers.percent(c.value)} {numbers.interval(c.low, c.high)}" if c else "-" for c in found]
        _add(table, [metric, *values])
    return table


def _comparison_table(comparison: Comparison, metric: str, *, is_narrow: bool) -> Table:
    benchmark = comparison.systems[0].record.benchmark
    title = f"{benchmark}: {metric}, n = {comparison.n:,}, baseline {comparison.baseline}"
    p_heads = ["p\nHolm"] if is_narrow else ["p", "Holm"]
    table = _table(title, ["System", "Value", "Difference", *p_heads, "W/L/T", "MDD"])
    between = "\n" if is_narrow else " "
    for system in comparison.systems:
        cell = comparison.find(system.label, "all", metric)
        if cell is None:
            continue
        row, d = cell.row, cell.difference
        value = f"{numbers.percent(row.value)}{between}{numbers.interval(row.low, row.high)}"
        if d is None:
            _add(table, [system.label, value, "baseline"])
            continue
        span = numbers.signed_interval(d.difference_low, d.difference_high)
        p_values = [numbers.p_value(d.p), numbers.p_value(d.p_holm)]
        tests = ["\n".join(p_values)] if is_narrow else p_values
        difference = f"{numbers.signed(d.difference)}{between}{span}"
        won = f"{d.wins}/{d.losses}/{d.ties}"
        _add(table, [system.label, value, difference, *tests, won, numbers.percent(d.detectable)])
    return table


def _table(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=Text(_ascii(title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, head in enumerate(heads):
        table.add_column(Text(_ascii(head)), justify="right" if i else "left", overflow="fold")
    return table


def _add(table: Table, cells: Sequence[str]) -> None:
    table.add_row(*(Text(_ascii(cell)) for cell in cells))  # Text: a name like [red] is no markup


def _ascii(text: str) -> str:
    """The signs that an ASCII terminal lacks, in ASCII."""
    return text.replace(numbers.MINUS, "-").replace("–", "-")


def _show(console: Console, table: Table) -> None:
    console.print(table, highlight=False)


def _show_note(console: Console, text: str) -> None:
    console.print(Text(_ascii(text)), highlight=False, style="dim")
