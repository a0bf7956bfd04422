"""Long skills as passages: the body in pieces, cut where its markdown has its joints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

PassageScore = Literal["max", "mean"]
Span = tuple[int, int]  # of characters in the body, without the white space around them
Block = tuple[int, int, str]  # a span and its kind: heading, fence, item or text

HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")  # below one line of text it makes a heading
ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])\s")
FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
LINE = re.compile(r"[^\n]*\n|[^\n]+")
SENTENCE = re.compile(r"\S.*?(?:[.!?;:](?=\s)|[。！？]|\n|\Z)", re.DOTALL)
WORD = re.compile(r"\S+")


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class PassageOptions:
    """How a body becomes passages and how their scores become the skill's.

    size: characters of the body in a passage; 700 with a header fill about 256 tokens. most: passages a skill at most;
    the rest of a longer body is left out and counted. name, description: characters of the header, in every passage.
    """

    size: int = Field(default=700, ge=50)
    most: int = Field(default=6, ge=1)
    name: int | None = Field(default=80, ge=1)
    description: int | None = Field(default=200, ge=1)
    score: PassageScore = "max"


def split_body(body: str, size: int) -> list[Span]:
    """Spans of at most `size` characters that hold all of the body but white space, in order.

    A section stays whole if it fits, else its paragraphs, list items and code fences do, else sentences, else words.
    Neighbours are packed together as long as they fit.
    """
    pieces: list[Span] = []
    for start, end in _units(body, size):
        if pieces and end - pieces[-1][0] <= size:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return pieces


def _units(body: str, size: int) -> Iterator[Span]:
    """The largest parts of the markdown that fit, whole sections first."""
    for section in _sections(_blocks(body)):
        whole = (section[0][0], section[-1][1])
        if whole[1] - whole[0] <= size:
            yield whole
            continue
        if len(section) > 1 and section[1][1] - section[0][0] <= size:  # no heading at the end of a passage
            section[:2] = [(section[0][0], section[1][1], section[0][2])]
        for start, end, kind in section:
            yield from _parts(body, (start, end), size, (LINE, WORD) if kind == "fence" else (SENTENCE, WORD))


def _parts(body: str, span: Span, size: int, joints: tuple[re.Pattern[str], ...]) -> Iterator[Span]:
    """A span that fits as it is, else split at the first kind of joint, and so on; one endless word is cut hard."""
    start, end = span
    if end - start <= size:
        yield span
    elif joints:
        for found in joints[0].finditer(body, start, end):
            yield from _parts(body, _trimmed(body, found.span()), size, joints[1:])
    else:
        yield from ((place, min(place + size, end)) for place in range(start, end, size))


def _sections(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks grouped so that each heading begins a group; headings in a row stay together."""
    section: list[Block] = []
    for block in blocks:
        if block[2] == "heading" and section and section[-1][2] != "heading":
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _blocks(body: str) -> list[Block]:
    """Headings, code fences, list items and paragraphs (tables and quotes too)."""
    blocks: list[Block] = []
    kind, fence = "", ""  # kind: of the block that the next line may go on with, "" for none
    for found in LINE.finditer(body):
        line, (start, end) = found.group(), found.span()
        if kind == "fence":
            blocks[-1] = (blocks[-1][0], end, kind)
            kind = "" if _closes(line, fence) else kind
        elif not line.strip():
            kind = ""
        elif kind == "text" and UNDERLINE.match(line) and body.find("\n", blocks[-1][0], start - 1) < 0:
            blocks[-1], kind = (blocks[-1][0], end, "heading"), ""
        elif (found_kind := _kind(line)) == "text" and kind:
            blocks[-1] = (blocks[-1][0], end, kind)
        else:
            blocks.append((start, end, found_kind))
            kind = "" if found_kind == "heading" else found_kind
            if opening := FENCE.match(line):
                fence = opening.group(1)
    return [(*_trimmed(body, (start, end)), kind) for start, end, kind in blocks]


def _kind(line: str) -> str:
    """What a line that is not blank and outside fences begins."""
    if HEADING.match(line):
        return "heading"
    if FENCE.match(line):
        return "fence"
    return "item" if ITEM.match(line) else "text"


def _closes(line: str, fence: str) -> bool:
    return line.strip().startswith(fence) and set(line.strip()) == {fence[0]}


def _trimmed(body: str, span: Span) -> Span:
    """The span without white space at both ends."""
    text = body[span[0] : span[1]]
    start = span[0] + len(text) - len(text.lstrip())
    return start, max(start, span[0] + len(text.rstrip()))
