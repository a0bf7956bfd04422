"""One renderer for every report: a page of sections, each a small template with its data, in one file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from skillfit.analysis import numbers

TEMPLATES = Path(__file__).parent / "templates"
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # not allowed in HTML, or not in UTF-8


@dataclass(frozen=True)
class Section:
    """A part of a page: its heading, the template that draws it and the data the template reads."""

    anchor: str
    title: str
    template: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """A report: what stands above the sections, and the sections."""

    kind: str
    title: str
    subtitle: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...]
    notices: tuple[str, ...] = field(default=())


def render(page: Page) -> str:
    """The page as HTML without outside assets or scripts; all text is escaped, only our own SVG passes as it is."""
    html = _environment().get_template("page.html.j2").render(page=page)
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", html)


def figure(svg: str) -> Markup:
    """Mark an SVG element of ours as safe; its texts were escaped when it was drawn."""
    return Markup(svg)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("percent", "signed", "p_value", "share"):
        environment.filters[name] = getattr(numbers, name)
    environment.globals |= {"interval": numbers.interval, "signed_interval": numbers.signed_interval}
    environment.filters["thousands"] = lambda value: f"{value:,}" if isinstance(value, int) else str(value)
    return environment
