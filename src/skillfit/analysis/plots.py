"""The figures: values by group with their intervals, and differences to a baseline; a panel shows one metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillfit.analysis.folder import MetricRow
from skillfit.analysis.svg import GRID, INK, SERIES, new_figure, plain, style, to_svg

MOST_GROUPS = 25
MOST_SYSTEMS = len(SERIES)
LABEL = 20  # characters of a label; the tables have it in full


@dataclass(frozen=True)
class GroupFigure:
    """One axis of groups: a panel a metric, and what did not fit (largest groups and first systems are drawn)."""

    axis: str
    panels: Mapping[str, str]
    groups_left_out: int
    systems_left_out: int


def group_figure(rows: Sequence[MetricRow], axis: str, metrics: Sequence[str]) -> GroupFigure:
    """Bars of one axis (`size` or another), groups in one order in all panels: by the first metric, best first."""
    members = [row for row in rows if axis_of(row.group) == axis]
    systems = list(dict.fromkeys(row.system for row in members))
    groups = sorted_groups(members, systems[0], metrics[0])
    shown, drawn = groups[:MOST_GROUPS], systems[:MOST_SYSTEMS]
    if len(groups) > MOST_GROUPS:
        sizes = {row.group: row.n for row in members}
        largest = set(sorted(groups, key=lambda group: (-sizes[group], group))[:MOST_GROUPS])
        shown = [group for group in groups if group in largest]
    panels = {metric: group_bars(members, shown, drawn, metric) for metric in metrics}
    return GroupFigure(axis, panels, len(groups) - len(shown), len(systems) - len(drawn))


def group_bars(rows: Sequence[MetricRow], groups: Sequence[str], systems: Sequence[str], metric: str) -> str:
    """One panel: a bar a group and system with its 95 % interval, n in the labels, as an SVG element."""
    cell = {(row.system, row.group): row for row in rows if row.metric == metric}
    thick = 0.8 / len(systems)
    title = f"{metric} by group"
    with style(f"{title} {groups} {systems}"):
        figure, axes = new_figure(0.75 + len(groups) * (0.16 + 0.13 * len(systems)) + _legend_height(systems))
        for k, system in enumerate(systems):
            found = [(i, cell[system, group]) for i, group in enumerate(groups) if (system, group) in cell]
            places = [i - 0.4 + thick * (k + 0.5) for i, _ in found]
            values = [100 * row.value for _, row in found]
            below = [max(0.0, 100 * (row.value - row.low)) for _, row in found]
            above = [max(0.0, 100 * (row.high - row.value)) for _, row in found]
            axes.barh(places, values, height=thick * 0.88, color=SERIES[k], alpha=0.75)
            axes.errorbar(values, places, xerr=[below, above], fmt="none", ecolor=INK, elinewidth=1.0, capsize=2)
        labels = [_group_label(group, [cell[s, group].n for s in systems if (s, group) in cell]) for group in groups]
        axes.set_yticks(range(len(groups)), labels)
        axes.set_ylim(len(groups) - 0.45, -0.55)
        axes.set_xlim(0, 100)
        _dress(axes, figure, f"{plain(metric, 40)}, %", systems)
        return to_svg(figure, f"{title}, with 95 % intervals; the table below the figures has the numbers")


@dataclass(frozen=True)
class ForestPoint:
    """A system's difference to the baseline, in fractions, with its interval."""

    system: str
    difference: float
    low: float
    high: float


def forest(points: Sequence[ForestPoint], metric: str, baseline: str) -> str:
    """One panel: each system's difference to the baseline with its 95 % interval, in points, as an SVG element."""
    title = f"{metric}: difference to {plain(baseline)}"
    with style(f"{title} {[point.system for point in points]}"):
        figure, axes = new_figure(0.8 + 0.3 * len(points))
        axes.axvline(0, color=INK, linewidth=1)
        for i, point in enumerate(points):
            axes.plot([100 * point.low, 100 * point.high], [i, i], color=SERIES[0], linewidth=2)
            axes.plot([100 * point.difference], [i], marker="o", markersize=6, color=SERIES[0])
        reach = 110 * max([0.01, *(max(abs(p.low), abs(p.high)) for p in points)])
        axes.set_xlim(-reach, reach)
        axes.set_yticks(range(len(points)), [plain(point.system, LABEL) for point in points])
        axes.set_ylim(len(points) - 0.5, -0.5)
        _dress(axes, figure, f"{plain(metric, 40)}, points", ())
        return to_svg(figure, f"{title}, with 95 % intervals; the tables have the numbers")


def axis_of(group: str) -> str:
    """The axis of a group's name: `all`, `size` for single and multi, else what stands before `=`."""
    return "size" if group in ("single", "multi") else group.split("=", 1)[0]


def value_of(group: str) -> str:
    """What stands behind `=` in a group's name, or the name itself."""
    return group.split("=", 1)[-1]


def sorted_groups(rows: Sequence[MetricRow], system: str, metric: str) -> list[str]:
    """The groups by a system's value on a metric, best first, then by name; groups it does not have come last."""
    values = {row.group: row.value for row in rows if row.system == system and row.metric == metric}
    return sorted({row.group for row in rows}, key=lambda group: (-values.get(group, -1.0), group))


def _group_label(group: str, counts: Sequence[int]) -> str:
    n = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"
    return f"{plain(value_of(group), LABEL)} (n={n})"


def _legend_height(systems: Sequence[str]) -> float:
    return 0.2 * len(systems) if len(systems) > 1 else 0.0


def _dress(axes: Any, figure: Any, title: str, systems: Sequence[str]) -> None:
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    axes.grid(axis="x", color=GRID)
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    if len(systems) > 1:
        legend = figure.legend(axes.containers[::2], ["-"] * len(systems), loc="outside upper left", frameon=False)
        for text, system in zip(legend.get_texts(), systems, strict=True):
            text.set_text(plain(system, 40))  # set afterwards, as a legend leaves out labels that start with "_"
            text.set_fontsize("small")
