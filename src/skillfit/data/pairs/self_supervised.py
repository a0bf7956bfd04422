"""Pairs that a corpus gives by itself, so that training can start without a single query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import Pair, PairSet
from skillfit.data.views import cut_at_word
from skillfit.types import Skill

Kind = Literal["description", "section"]
HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t]*#*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SelfSupervisedPairs:
    """A part of a skill's text as the query, the skill without that part as its document.

    kinds: `description` (the document has none) and `section` (a heading with the text below it; the document lacks the
    section). mask_name: words of the skill's name are taken out of the query, so that it cannot be found by them.
    min_chars, max_chars: of a query; longer ones are cut at a word. most: pairs at most, drawn by seed. per_skill:
    sections of a skill at most. exclude: skill ids and beginnings of them that are left out, as `gt/`; skills that a
    protected test requires, and their copies, always are.
    """

    kinds: tuple[Kind, ...] = Field(default=("description", "section"), min_length=1)
    mask_name: bool = True
    min_chars: int = Field(default=40, ge=1)
    max_chars: int = Field(default=300, ge=1)
    most: int | None = Field(default=None, ge=1)
    per_skill: int = Field(default=1, ge=1)
    exclude: tuple[str, ...] = ()

    def pairs(self, benchmark: Benchmark, *, split: str, seed: int, protected: frozenset[str]) -> PairSet:
        """The pairs of all skills but the excluded ones. Skills that dev queries require are left out too."""
        counts: Counter[str] = Counter({"skills": len(benchmark.corpus)})
        kept_out = protected | _required_elsewhere(benchmark, split)
        copies = benchmark.corpus.copies()
        found: list[tuple[str, str, Skill]] = []
        for skill in benchmark.corpus:
            if skill.skill_id in kept_out or skill.skill_id.startswith(self.exclude):
                counts["excluded"] += 1
                continue
            own = list(self._of(skill, seed))
            counts["without_text"] += not own
            found += own
        if self.most is not None and len(found) > self.most:
            counts["beyond_most"] = len(found) - self.most
            drawn = np.random.default_rng([seed, 1]).permutation(len(found))[: self.most]
            found = [found[i] for i in sorted(drawn.tolist())]
        counts["pairs"] = len(found)
        made = [
            Pair(key, skill.skill_id, copies.get(skill.skill_id, frozenset({skill.skill_id})), document=key)
            for key, _, skill in found
        ]
        texts = {key: text for key, text, _ in found}
        return PairSet(tuple(made), texts, {key: skill for key, _, skill in found}, dict(counts))

    def _of(self, skill: Skill, seed: int) -> Iterator[tuple[str, str, Skill]]:
        """(key, query, skill without it)."""
        if "description" in self.kinds and skill.body.strip() and (query := self._query(skill.description, skill)):
            yield f"description:{skill.skill_id}", query, replace(skill, description="")
        if "section" not in self.kinds:
            return
        spans = sections(skill.body)
        usable = [(span, query) for span in spans if (query := self._query(skill.body[slice(*span)], skill))]
        usable = [(span, query) for span, query in usable if _rest(skill.body, span).strip()]
        draw = np.random.default_rng([seed, *skill.skill_id.encode("utf-8", "surrogatepass")])
        for number in sorted(draw.permutation(len(usable))[: self.per_skill].tolist()):
            span, query = usable[number]
            yield f"section:{skill.skill_id}:{span[0]}", query, replace(skill, body=_rest(skill.body, span))

    def _query(self, text: str, skill: Skill) -> str:
        """The text as a query, "" if too little is left of it."""
        plain = " ".join(FENCE.sub(" ", text).replace("#", " ").split())
        if self.mask_name:
            name = {word.lower() for word in WORD.findall(skill.name.replace("_", " "))}
            plain = " ".join(WORD.sub(lambda m: "" if m.group().lower() in name else m.group(), plain).split())
        return cut_at_word(plain, self.max_chars) if len(plain) >= self.min_chars else ""


def sections(body: str) -> list[tuple[int, int]]:
    """Spans of a markdown body from each heading to the next, code fences left whole."""
    fenced = [match.span() for match in FENCE.finditer(body)]
    starts = [
        match.start()
        for match in HEADING.finditer(body)
        if not any(begin <= match.start() < end for begin, end in fenced)
    ]
    return list(pairwise([*starts, len(body)]))


def _rest(body: str, span: tuple[int, int]) -> str:
    return body[: span[0]] + body[span[1] :]


def _required_elsewhere(benchmark: Benchmark, split: str) -> frozenset[str]:
    """Skills, copies included, that queries outside the training split require: they would flatter dev."""
    copies = benchmark.corpus.copies()
    asked = {query.query_id for query in benchmark.queries if query.groups.get("split", split) != split}
    needed = {skill for query in asked for skill in benchmark.qrels.required.get(query, ())}
    return frozenset(copy for skill in needed for copy in copies.get(skill, {skill}))
