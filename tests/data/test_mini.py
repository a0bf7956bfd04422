"""The audit of skillfit-mini: what its data card promises is checked on every text."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations

import pytest

from skillfit.data.named import mini_source
from skillfit.data.skill_md import parse_skill_md

SPLITS = ("train", "dev", "test")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def trigrams(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + 3]) for i in range(len(found) - 2)}


@pytest.fixture(scope="module")
def skills() -> dict[str, tuple[str, str, str]]:
    """skill_id -> (name, description, body), read by the reader that users' skills go through."""
    root = mini_source() / "skills"
    found = {}
    for path in sorted(root.glob("*/*/SKILL.md")):
        parsed = parse_skill_md(path.read_bytes(), folder=path.parent.name)
        found[path.parent.relative_to(root).as_posix()] = (parsed.name, parsed.description, parsed.body)
    return found


@pytest.fixture(scope="module")
def queries() -> list[dict]:
    lines = (mini_source() / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def size(query: dict) -> str:
    return {0: "none", 1: "single"}.get(len(query["required"]), "multi")


def test_there_is_enough_of_everything(skills, queries):
    families = Counter(skill_id.split("/")[0] for skill_id in skills)
    assert len(skills) >= 150
    assert len(families) >= 15
    assert min(families.values()) >= 8
    sizes = Counter(map(size, queries))
    assert len(queries) >= 450
    assert sizes["multi"] >= 60
    assert sizes["none"] >= 40
    assert all({size(q) for q in queries if q["split"] == split} == {"none", "single", "multi"} for split in SPLITS)


def test_bodies_have_120_to_400_words(skills):
    assert {
        skill_id: len(body.split()) for skill_id, (_, _, body) in skills.items() if not 120 <= len(body.split()) <= 400
    } == {}


def test_names_are_unique_and_equal_their_folders(skills):
    assert all(name == skill_id.split("/")[1] for skill_id, (name, _, _) in skills.items())
    assert len({name for name, _, _ in skills.values()}) == len(skills)
    assert len({description for _, description, _ in skills.values()}) == len(skills)


def test_no_two_bodies_share_more_than_30_percent_of_word_trigrams(skills):
    grams = {skill_id: trigrams(body) for skill_id, (_, _, body) in skills.items()}
    shared = {(a, b): len(grams[a] & grams[b]) / min(len(grams[a]), len(grams[b])) for a, b in combinations(grams, 2)}
    worst = max(shared, key=shared.__getitem__)
    assert shared[worst] <= 0.30, worst


def test_no_query_contains_the_name_of_a_skill(skills, queries):
    names = {skill_id: " ".join(words(name.replace("-", " "))) for skill_id, (name, _, _) in skills.items()}
    for query in queries:
        text = " ".join(words(query["text"].replace("-", " ")))
        for skill_id in query["required"]:
            assert f" {names[skill_id]} " not in f" {text} ", (query["query_id"], skill_id)


def test_splits_have_disjoint_required_skills(queries):
    required = {split: {s for q in queries if q["split"] == split for s in q["required"]} for split in SPLITS}
    for a, b in combinations(SPLITS, 2):
        assert required[a] & required[b] == set()
    assert {query["split"] for query in queries} == set(SPLITS)


def test_every_skill_is_required_by_some_query_and_every_id_exists(skills, queries):
    assert {skill for query in queries for skill in query["required"]} == set(skills)


def test_ids_texts_and_groups_are_consistent(skills, queries):
    assert len({query["query_id"] for query in queries}) == len({query["text"] for query in queries}) == len(queries)
    families = {skill_id.split("/")[0] for skill_id in skills}
    for query in queries:
        assert set(query) == {"query_id", "text", "required", "split", "family"}
        assert query["family"] in families
        assert len(query["required"]) == len(set(query["required"])) <= 4
        if query["required"]:
            assert query["family"] in {skill.split("/")[0] for skill in query["required"]}


def test_queries_are_one_to_six_sentences(queries):
    for query in queries:
        text = re.sub(r"(?<=\w)[.](?=\w)|\b(?:e\.g|i\.e|vs|no|approx)\.", "", query["text"], flags=re.IGNORECASE)
        assert 1 <= max(1, len(re.findall(r"[.!?]+(?=\s|$)", text))) <= 6, query["query_id"]


def test_queries_are_not_filled_from_a_template(queries):
    """No opening of four words serves more than a few queries."""
    openings = Counter(" ".join(words(query["text"])[:4]) for query in queries)
    assert openings.most_common(1)[0][1] <= 5, openings.most_common(3)
