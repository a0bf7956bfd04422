"""Matplotlib figures as inline SVG: text stays text, colours follow the page, the same input gives the same bytes."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from skillfit.io.files import hash_text

# Okabe and Ito's colour-blind-safe palette without its black and yellow, which vanish on one of the two backgrounds.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
# Stand-ins that Matplotlib can draw and the page replaces by its own colours, light or dark.
INK, GRID = "#010203", "#040506"
PAGE_COLOURS = {INK: "currentColor", GRID: "var(--rule, #cccccc)"}
WIDTH = 5.0  # inches: 360 units, the width of a phone, so that 10 units of text are 10 pixels there
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


@contextmanager
def style(name: str) -> Iterator[None]:
    """Settings under which a figure is drawn and saved; `name` keeps its ids apart from other figures' on a page."""
    import matplotlib as mpl

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": hash_text(name),
        "font.family": "DejaVu Sans",  # comes with Matplotlib, so widths are measured alike everywhere
        "font.size": 10.5,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GRID,
        "xtick.color": GRID,
        "xtick.labelcolor": INK,
        "ytick.color": GRID,
        "ytick.labelcolor": INK,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "text.parse_math": False,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing|constrained_layout not applied"
        )  # the reader's browser has the glyph
        yield


def new_figure(height: float) -> tuple[Any, Any]:
    """A figure of the page's width with one axes; call it and `to_svg` under `style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def to_svg(figure: Any, title: str) -> str:
    """The figure as an <svg> element that scales with its column; `title` is what a screen reader says."""
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*|<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    referenced = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda m: m.group(0) if m.group(1) in referenced else "", text)
    text = re.sub(r"font: ([\d.]+)px '[^']*'", r"font-size: \1px", text)
    text = re.sub(r"font-family: [^;\"]*;? ?", "", text)
    for stand_in, colour in PAGE_COLOURS.items():
        text = text.replace(stand_in, colour)
    view = re.search(r'viewBox="[^"]*"', text)
    label = escape(plain(title), quote=True)
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    head = f'<svg {names} {view.group(0) if view else ""} role="img" aria-label="{label}">'
    return head + text[text.index(">") + 1 :].strip()


def plain(text: str, limit: int | None = None) -> str:
    """One line of printable text, shortened in the middle to at most `limit` characters."""
    line = " ".join(CONTROL.sub(" ", text).split())
    if limit is None or len(line) <= limit:
        return line
    tail = limit // 3
    return f"{line[: limit - tail - 1]}…{line[-tail:]}"
