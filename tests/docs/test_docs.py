"""Every link of the written pages leads somewhere: to a file of this repository, and to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
ELSEWHERE = re.compile(r"(?:https?|mailto):")
CODE = re.compile(r"^(```|~~~).*?^\1\s*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def links(text: str) -> Iterator[str]:
    """Targets of inline and reference links, images included; code is no link."""
    for match in LINK.finditer(CODE.sub("", text)):
        yield match[1] or match[2]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings: lower case, no punctuation, hyphens for spaces, numbered if repeated."""
    found: set[str] = set()
    without_blocks = re.sub(r"^(```|~~~).*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", without_blocks, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number, anchor = 0, name
        while anchor in found:
            number += 1
            anchor = f"{name}-{number}"
        found.add(anchor)
    return found


def fault(page: Path, link: str) -> str | None:
    """Why a link of a page leads nowhere; None if it leads somewhere, or out of the repository."""
    if ELSEWHERE.match(link):
        return None
    path, _, anchor = unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_relative_to(ROOT):
        return "leads out of the repository"
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
        return f"no heading for #{anchor}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    faults = [f"{link}: {why}" for link in links(page.read_text(encoding="utf-8")) if (why := fault(page, link))]
    assert not faults, "\n".join(faults)


def test_links_are_found() -> None:
    text = "[a](b.md) ![c](d.png 'x') [e](<f.md>)\n\n[g]: h.md\n\n`[i](j.md)`\n\n"
    text += '```\n[k](l.md)\n```\n[m](n.md#o "p")\n'
    assert list(links(text)) == ["b.md", "d.png", "f.md", "h.md", "n.md#o"]


def test_anchors_are_those_of_a_rendered_page() -> None:
    text = "# A b: `c` (d)\n## Twice\n## Twice\n```\n# no heading\n```\n## [Linked](x) one\n"
    assert anchors(text) == {"a-b-c-d", "twice", "twice-1", "linked-one"}


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("LICENSE", None),
        ("conf/", None),
        ("https://example.org/x", None),
        ("CONTRIBUTING.md#set-up", None),
        ("CONTRIBUTING.md#sit-up", "no heading for #sit-up"),
        ("docs/nothing.md", "no such file"),
        ("../outside.md", "leads out of the repository"),
    ],
)
def test_what_counts_as_a_dead_link(link: str, why: str | None) -> None:
    assert fault(ROOT / "README.md", link) == why
