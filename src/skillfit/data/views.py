"""Text views: which fields of a skill a model reads, in which order, joined how and cut where."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.types import Skill

FieldName = Literal["name", "description", "body"]
_CONFIG = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Caps:
    """Character limits of the query and of each field of a skill; null leaves a text whole."""

    query: int | None = Field(default=None, ge=1)
    name: int | None = Field(default=None, ge=1)
    description: int | None = Field(default=None, ge=1)
    body: int | None = Field(default=None, ge=1)


# SkillRouter states two sets: `paper` in its template and helper functions, `release` in its command-line programs.
CAPS = {
    "paper": Caps(query=1_500, description=300, body=2_500),
    "release": Caps(query=2_000, description=500, body=8_000),
    "none": Caps(),
}


@dataclass(frozen=True, kw_only=True, config=_CONFIG)
class TextView:
    """How a skill becomes one text. `nd` is name and description, `full` adds the body (SkillRouter, section 3).

    caps: the name of a profile or the limits themselves. Empty fields are left out together with their separator.
    """

    name: str
    fields: tuple[FieldName, ...] = Field(min_length=1)
    separator: str = " | "
    caps: Literal["paper", "release", "none"] | Caps = "release"

    @property
    def limits(self) -> Caps:
        """The limits in force."""
        return CAPS[self.caps] if isinstance(self.caps, str) else self.caps

    def skill_text(self, skill: Skill, ledger: CutLedger | None = None) -> str:
        """The text of a skill under this view; `ledger` counts what was cut."""
        parts = []
        for name in self.fields:
            text = cut_at_word(getattr(skill, name), getattr(self.limits, name))
            if ledger is not None:
                ledger.note(name, getattr(skill, name), text)
            if text.strip():
                parts.append(text)
        return self.separator.join(parts)

    def query_text(self, text: str, ledger: CutLedger | None = None) -> str:
        """The text of a query under this view's cap."""
        cut = cut_at_word(text, self.limits.query)
        if ledger is not None:
            ledger.note("query", text, cut)
        return cut

    def settings(self) -> dict[str, object]:
        """Everything that shapes the text, as plain values for keys and model folders."""
        caps = self.limits
        return {
            "name": self.name,
            "fields": list(self.fields),
            "separator": self.separator,
            "caps": {"query": caps.query, "name": caps.name, "description": caps.description, "body": caps.body},
        }


@dataclass
class CutLedger:
    """Counts, for each field, how many texts there were and how many a cap cut."""

    texts: Counter[str] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)

    def note(self, name: str, before: str, after: str) -> None:
        """Count one text of a field."""
        self.texts[name] += 1
        self.cut[name] += len(after) < len(before)

    def shares(self) -> dict[str, float]:
        """The share of cut texts of each field, in [0, 1]."""
        return {name: self.cut[name] / count for name, count in self.texts.items()}


def cut_at_word(text: str, limit: int | None) -> str:
    """Cut to at most `limit` characters at the last white space before it; a single longer word is cut hard."""
    if limit is None or len(text) <= limit:
        return text
    head = text[: limit + 1]
    end = max(head.rfind(" "), head.rfind("\n"), head.rfind("\t"))
    return head[:end].rstrip() if end > 0 else text[:limit]
