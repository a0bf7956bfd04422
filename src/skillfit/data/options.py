"""What a user can choose about an import."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class ImportOptions:
    """How sources are read. Options of one format are ignored by the others.

    format: `auto` or the name of a format. near_copies: Jaccard similarity of word 5-shingles from which two bodies
    count as near copies, null to leave them unsearched. unknown: what happens to judged ids that are not in the corpus;
    null takes the default of the format. max_mib: size limit of one SKILL.md or record, in MiB.
    namespace, nested: folders of SKILL.md. tier, ground_truth: SkillRouter. split: BEIR and SkillRet. clean: trigger
    cases.
    """

    format: str = "auto"
    namespace: str | None = None
    nested: Literal["skip", "load"] = "skip"
    max_mib: float = Field(default=10.0, gt=0, le=1_024)
    near_copies: float | None = Field(default=0.7, gt=0, le=1)
    unknown: Literal["error", "drop"] | None = None
    tier: Literal["easy", "hard"] = "easy"
    ground_truth: Literal["core", "all"] = "core"
    split: str | None = None
    clean: bool = True

    @property
    def max_bytes(self) -> int:
        """The size limit of one file or record in bytes."""
        return int(self.max_mib * 1024 * 1024)
