"""Pairs of a file: queries with a skill that fits and, if known, skills that do not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from skillfit.data.benchmark import Benchmark
from skillfit.data.examples import Pair, PairSet
from skillfit.data.queries import query_files, skill_list
from skillfit.errors import UserError
from skillfit.io.files import hash_text
from skillfit.io.jsonl import field as text_field
from skillfit.io.jsonl import read_jsonl


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class FilePairs:
    """Rows of JSON Lines with `query` (a text), `positive` (a skill id) and optionally `negatives` (skill ids).

    Fields are bound by name. All rows of one text share their positives: none of them is the other's negative. unknown:
    whether a skill that the corpus lacks is an error, or drops the row (a positive) or itself (a negative), counted.
    """

    path: str
    unknown: Literal["error", "drop"] = "error"

    def pairs(self, benchmark: Benchmark, *, split: str, seed: int, protected: frozenset[str]) -> PairSet:
        """The pairs in the order of the file. Raises UserError with `file:line` for a missing or wrong field."""
        counts: Counter[str] = Counter()
        rows: list[tuple[str, str, tuple[str, ...]]] = []
        positives: dict[str, set[str]] = {}
        for file in query_files(Path(self.path).expanduser()):
            for number, record in read_jsonl(file):
                counts["rows"] += 1
                if (row := self._row(record, f"{file}:{number}", benchmark, counts)) is not None:
                    rows.append(row)
                    positives.setdefault(row[0], set()).add(row[1])
        if not rows:
            raise UserError(self.path, fix='holds no pair; expected lines like {"query": "…", "positive": "skill id"}')
        copies, texts, made = benchmark.corpus.copies(), {}, []
        for text, skill, negatives in dict.fromkeys(rows):
            query_id = f"file:{hash_text(text)[:16]}"
            texts[query_id] = text
            answers = frozenset(copy for right in positives[text] for copy in copies.get(right, {right}))
            kept = tuple(negative for negative in negatives if negative not in answers)
            counts["negatives_that_are_answers"] += len(negatives) - len(kept)
            made.append(Pair(query_id, skill, answers, kept))
        counts |= {"pairs": len(made), "repeated_rows": len(rows) - len(made)}
        return PairSet(tuple(made), texts, counts=dict(counts))

    def _row(
        self, record: dict[str, Any], place: str, benchmark: Benchmark, counts: Counter[str]
    ) -> tuple[str, str, tuple[str, ...]] | None:
        text, positive = text_field(record, ("query",), place), text_field(record, ("positive",), place)
        negatives = sorted(skill_list(record["negatives"], "negatives", place)) if "negatives" in record else []
        strangers = [skill for skill in (positive, *negatives) if skill not in benchmark.corpus]
        if strangers and self.unknown == "error":
            name = "positive" if positive in strangers else "negatives"
            fix = "is no skill of the corpus; mend it, or leave such skills out with unknown=drop"
            raise UserError(place, name, strangers[0], fix)
        counts["unknown_skills"] += len(strangers)
        if positive in strangers:
            counts["rows_without_known_positive"] += 1
            return None
        return text, positive, tuple(skill for skill in negatives if skill not in strangers)
