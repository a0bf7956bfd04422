"""Sources of training pairs: what becomes a query, a document, a negative, and what is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import ListPool
from skillfit.data.benchmark import Benchmark, make_benchmark
from skillfit.data.examples import PairSource, join_pairs
from skillfit.data.pairs.file import FilePairs
from skillfit.data.pairs.judged import JudgedPairs
from skillfit.data.pairs.self_supervised import SelfSupervisedPairs, sections
from skillfit.errors import UserError
from skillfit.types import Qrels, Query, Skill

LONG = "Pull every table out of a report and write each one as a sheet of its own. " * 2
FENCE = "```python\n# no heading\n```"
LIMITS = "## Limits\n\nOnly text, never scanned pages, at most 50.\n"
BODY = f"Intro.\n\n## Steps\n\n{LONG}\n\n{FENCE}\n\n{LIMITS}"


@pytest.fixture
def benchmark() -> Benchmark:
    skills = [
        Skill("gt/x", "x", LONG, BODY),
        Skill("a/tables", "pdf-tables", f"Use pdf tables. {LONG}", BODY, copy_group="g"),
        Skill("b/tables", "tables", LONG, BODY, copy_group="g"),
        Skill("c/short", "short", "Too little.", "Nothing."),
        Skill("d/dev", "dev", LONG, BODY),
    ]
    queries = [
        Query("q1", "two right answers", {"split": "train"}),
        Query("q2", "nothing fits", {"split": "train"}),
        Query("q3", "dev", {"split": "dev"}),
    ]
    required = {"q1": frozenset({"a/tables", "c/short"}), "q2": frozenset(), "q3": frozenset({"d/dev"})}
    qrels = Qrels(required, {"q1": {"gt/x": 0, "b/tables": 0}})
    return make_benchmark("toy", ListPool(skills), queries, qrels, unknown="error", place="toy")


def pairs(source: PairSource, benchmark: Benchmark, protected: frozenset[str] = frozenset(), seed: int = 0):
    assert isinstance(source, PairSource)
    return source.pairs(benchmark, split="train", seed=seed, protected=protected)


def test_up01_judged_pairs_know_all_positives_their_copies_and_what_was_refused(benchmark):
    found = pairs(JudgedPairs(), benchmark)
    assert [(pair.query_id, pair.skill_id) for pair in found.pairs] == [("q1", "a/tables"), ("q1", "c/short")]
    assert all(pair.answers == {"a/tables", "b/tables", "c/short"} for pair in found.pairs)
    assert all(pair.negatives == ("gt/x",) for pair in found.pairs)  # b/tables is a copy of an answer
    assert found.counts == {"queries": 2, "without_skill": 1, "pairs": 2}
    assert found.query_texts == {"q1": "two right answers"}


def test_a_corpus_gives_pairs_by_itself(benchmark):
    found = pairs(SelfSupervisedPairs(exclude=("gt/",)), benchmark)
    by_key = {pair.document: pair for pair in found.pairs}
    description = by_key["description:a/tables"]
    assert found.query_texts["description:a/tables"].startswith(
        "Use . Pull every table out"
    )  # without the words of its name
    assert found.documents["description:a/tables"].description == ""
    assert description.answers == {"a/tables", "b/tables"}
    (section,) = (key for key in by_key if key.startswith("section:a/tables"))
    text, rest = found.query_texts[section], found.documents[section].body
    assert ("Steps" in text) != ("Steps" in rest)
    assert rest.startswith("Intro.")
    assert {pair.skill_id for pair in found.pairs} == {"a/tables", "b/tables"}  # d/dev is asked for in dev
    assert found.counts["excluded"] == 2
    assert found.counts["without_text"] == 1
    assert found.counts["pairs"] == len(found.pairs) == 4


def test_self_supervised_pairs_leave_protected_skills_out_and_follow_the_seed(benchmark):
    found = pairs(SelfSupervisedPairs(), benchmark, frozenset({"a/tables", "b/tables"}))
    assert {pair.skill_id for pair in found.pairs} == {"gt/x"}
    few = [pairs(SelfSupervisedPairs(most=2), benchmark, seed=seed).query_texts.keys() for seed in (0, 0, 1, 2, 3)]
    assert few[0] == few[1]
    assert len({frozenset(keys) for keys in few}) > 1
    assert pairs(SelfSupervisedPairs(most=2), benchmark).counts["beyond_most"] == 4


def test_the_name_may_stay(benchmark):
    found = pairs(SelfSupervisedPairs(mask_name=False, kinds=("description",)), benchmark)
    assert found.query_texts["description:a/tables"].startswith("Use pdf tables. Pull")


def test_sections_are_cut_at_headings_outside_fences():
    assert [BODY[slice(*span)].splitlines()[0] for span in sections(BODY)] == ["## Steps", "## Limits"]


def write(path: Path, *rows: object) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_up03_fields_of_a_file_are_bound_by_name(benchmark, tmp_path):
    rows = [
        {"positive": "a/tables", "query": "tables of a pdf", "negatives": ["c/short", "b/tables"]},
        {"query": "tables of a pdf", "positive": "gt/x"},
        {"query": "tables of a pdf", "positive": "gt/x"},
    ]
    found = pairs(FilePairs(path=write(tmp_path / "p.jsonl", *rows)), benchmark)
    assert [(pair.skill_id, pair.negatives) for pair in found.pairs] == [("a/tables", ("c/short",)), ("gt/x", ())]
    assert all(pair.answers == {"a/tables", "b/tables", "gt/x"} for pair in found.pairs)
    assert list(found.query_texts.values()) == ["tables of a pdf"]
    assert found.counts["rows"] == found.counts["pairs"] + found.counts["repeated_rows"] == 3
    assert found.counts["negatives_that_are_answers"] == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"query": "x"}, r"p\.jsonl:2: positive"),
        ({"positive": "a/tables"}, r"p\.jsonl:2: query"),
        ({"query": "x", "positive": "nope"}, r"p\.jsonl:2: positive = 'nope'.*unknown=drop"),
        ({"query": "x", "positive": "gt/x", "negatives": ["nope"]}, r"p\.jsonl:2: negatives = 'nope'"),
        ({"query": "x", "positive": "gt/x", "negatives": "c/short"}, r"p\.jsonl:2: negatives"),
    ],
)
def test_up09_a_wrong_row_is_told_with_its_place(benchmark, tmp_path, row, told):
    path = write(tmp_path / "p.jsonl", {"query": "y", "positive": "gt/x"}, row)
    with pytest.raises(UserError, match=told):
        pairs(FilePairs(path=path), benchmark)


def test_unknown_skills_of_a_file_may_be_dropped_and_are_counted(benchmark, tmp_path):
    rows = [{"query": "x", "positive": "nope"}, {"query": "y", "positive": "gt/x", "negatives": ["nope", "c/short"]}]
    found = pairs(FilePairs(path=write(tmp_path / "p.jsonl", *rows), unknown="drop"), benchmark)
    assert [(pair.skill_id, pair.negatives) for pair in found.pairs] == [("gt/x", ("c/short",))]
    assert (found.counts["rows_without_known_positive"], found.counts["unknown_skills"]) == (1, 2)


def test_sources_are_joined_with_their_counts(benchmark, tmp_path):
    file = FilePairs(path=write(tmp_path / "p.jsonl", {"query": "y", "positive": "gt/x"}))
    sets = {"judged": pairs(JudgedPairs(), benchmark), "file": pairs(file, benchmark)}
    found = join_pairs(sets)
    assert len(found.pairs) == 3
    assert found.counts["judged.pairs"] == 2
    assert found.counts["file.pairs"] == 1
    assert join_pairs({"judged": sets["judged"]}).counts["pairs"] == 2
