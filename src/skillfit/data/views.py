"""Text views: which fields of a skill a model reads, in which order, joined how and cut where."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, field
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.passages import PassageOptions, PassageScore, split_body
from skillfit.errors import UserError
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
    """How a skill becomes text. `nd` is name and description, `full` adds the body (SkillRouter, section 3).

    caps: the name of a profile or the limits themselves. Empty fields are left out together with their separator.
    passages: the body in pieces, each after its name and description; null leaves a skill one text.
    """

    name: str
    fields: tuple[FieldName, ...] = Field(min_length=1)
    separator: str = " | "
    caps: Literal["paper", "release", "none"] | Caps = "release"
    passages: PassageOptions | None = None

    def __post_init__(self) -> None:
        if self.passages is not None and "body" not in self.fields:
            fix = "passages are pieces of the body; add body to view.fields or set view.passages=null"
            raise UserError("config", "view.fields", list(self.fields), fix)

    @property
    def limits(self) -> Caps:
        """The limits in force."""
        return CAPS[self.caps] if isinstance(self.caps, str) else self.caps

    def skill_text(self, skill: Skill, ledger: CutLedger | None = None) -> str:
        """The text of a skill under this view; `ledger` counts what was cut."""
        return self._joined(self._cut(skill, ledger))

    def skill_texts(self, skill: Skill, ledger: CutLedger | None = None) -> tuple[str, ...]:
        """The texts a skill is found by: one, or its passages in the order of the body; the header alone without one.

        `ledger` counts under `passages` the bodies that went on after the last passage.
        """
        if self.passages is None:
            return (self.skill_text(skill, ledger),)
        texts = self._cut(skill, ledger, name=self.passages.name, description=self.passages.description)
        spans = split_body(texts["body"], self.passages.size)
        kept = spans[: self.passages.most]
        if ledger is not None and spans:
            ledger.note("passages", texts["body"][: spans[-1][1]], texts["body"][: kept[-1][1]])
        pieces = [texts["body"][start:end] for start, end in kept] or [""]
        return tuple(self._joined({**texts, "body": piece}) for piece in pieces)

    @property
    def passage_score(self) -> PassageScore:
        """How the scores of a skill's texts become its own; with one text a skill it makes no difference."""
        return "max" if self.passages is None else self.passages.score

    def _cut(self, skill: Skill, ledger: CutLedger | None, **tighter: int | None) -> dict[str, str]:
        """Each field of the view under its cap, or under a tighter one."""
        texts: dict[str, str] = {}
        for name in self.fields:
            limits = [limit for limit in (getattr(self.limits, name), tighter.get(name)) if limit is not None]
            texts[name] = cut_at_word(getattr(skill, name), min(limits, default=None))
            if ledger is not None:
                ledger.note(name, getattr(skill, name), texts[name])
        return texts

    def _joined(self, texts: dict[str, str]) -> str:
        return self.separator.join(text for text in texts.values() if text.strip())

    def query_text(self, text: str, ledger: CutLedger | None = None) -> str:
        """The text of a query under this view's cap."""
        cut = cut_at_word(text, self.limits.query)
        if ledger is not None:
            ledger.note("query", text, cut)
        return cut

    def settings(self) -> dict[str, object]:
        """Everything that shapes the text, as plain values for keys and model folders."""
        caps = self.limits
        passages = {} if self.passages is None else {"passages": asdict(self.passages)}
        return {
            "name": self.name,
            "fields": list(self.fields),
            "separator": self.separator,
            "caps": {"query": caps.query, "name": caps.name, "description": caps.description, "body": caps.body},
            **passages,
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
