"""Relevance judgements in TREC form (`query 0 skill grade`) or BEIR form (a header, `query skill grade`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillfit.errors import UserError
from skillfit.io.files import atomic_write
from skillfit.io.jsonl import read_lines

BEIR_HEADER = ("query-id", "corpus-id", "score")


def read_qrels(path: Path | str) -> dict[str, dict[str, int]]:
    """query_id -> skill_id -> grade, from a TREC or BEIR qrels file (tabs, or blanks when a line has no tab).

    A line that repeats a judgement word for word is taken once. Raises UserError with `file:line` for a wrong number
    of columns, a grade that is not an integer >= 0, or two different grades for one pair; and for a file without any.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, text in read_lines(path):
        columns = [c.strip() for c in text.split("\t")] if "\t" in text else text.split()
        if not grades and tuple(c.lower().replace("_", "-") for c in columns) == BEIR_HEADER:
            continue
        if len(columns) not in (3, 4) or not all(columns):
            raise UserError(f"{path}:{number}", "line", text, "expected `query 0 skill grade` or `query skill grade`")
        query_id, skill_id, grade = columns[0], columns[-2], parse_grade(columns[-1], f"{path}:{number}")
        known = grades.setdefault(query_id, {}).setdefault(skill_id, grade)
        if known != grade:
            raise UserError(f"{path}:{number}", f"{query_id} {skill_id}: grade", grade, f"contradicts {known} above")
    if not grades:
        raise UserError(path, fix="holds no judgement; expected lines of `query 0 skill grade` or `query skill grade`")
    return grades


def parse_grade(value: object, place: str) -> int:
    """A relevance grade as an int >= 0. Raises UserError for fractions, negatives, booleans and other text."""
    text = "true" if value is True else "false" if value is False else str(value).strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UserError(place, "grade", text, "use an integer >= 0")
    return int(text)


def required_from(grades: Mapping[str, Mapping[str, int]]) -> dict[str, frozenset[str]]:
    """The required skills that graded judgements imply: those with a grade above 0; a query with none is left out."""
    required = {q: frozenset(s for s, g in row.items() if g > 0) for q, row in grades.items()}
    return {q: skills for q, skills in required.items() if skills}


def write_qrels(path: Path | str, grades: Mapping[str, Mapping[str, int]]) -> None:
    """Write judgements in TREC form, tab-separated, sorted by query and skill, atomically.

    Raises UserError for an id that a column cannot hold.
    """
    with atomic_write(path) as handle:
        for query_id in sorted(grades):
            for skill_id in sorted(grades[query_id]):
                ids = f"{as_column(query_id, path)}\t0\t{as_column(skill_id, path)}"
                handle.write(f"{ids}\t{grades[query_id][skill_id]}\n")


def as_column(text: str, place: Path | str) -> str:
    """The text itself, if a tab-separated UTF-8 column gives it back unchanged. Raises UserError otherwise."""
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise UserError(place, "id", text, "holds half a character (a lone surrogate), which no file can; mend the id")
    if not text or text != text.strip().lstrip("\ufeff") or any(c in text for c in "\t\r\n"):
        raise UserError(place, "id", text, "TREC columns hold non-empty text without tabs, line ends or outer blanks")
    return text
