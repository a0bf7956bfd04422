"""Where categories come from, in which order they are tried, and that clusters are seeded."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fakes import ListPool
from skillfit.data.categories import CategoryOptions, find_categories
from skillfit.errors import UserError
from skillfit.types import Skill

TOPICS = {
    "pdf": "page table extract text form scan merge split",
    "mail": "inbox send reply thread address attachment signature folder",
    "cloud": "cluster deploy region bucket image container node scale",
}


def pool(extra=None, source=None, count=10):
    skills = []
    for topic, words in TOPICS.items():
        for i in range(count):
            body = f"{topic} {words} {words.split()[i % 8]} number{i}"
            skill_id = f"{topic}/{i:02}"
            skills.append(
                Skill(
                    skill_id, skill_id, f"about {topic}", body,
                    source=source(topic, i) if source else "", extra=extra(topic, i) if extra else {},
                )
            )  # fmt: skip
    return ListPool(skills)


def topics_of(corpus) -> list[str]:
    return [skill.skill_id.split("/")[0] for skill in corpus]


def is_by_topic(corpus, found) -> bool:
    pairs = set(zip(topics_of(corpus), found.labels.tolist(), strict=True))
    return len(pairs) == len(TOPICS) == len(set(found.labels.tolist()))


@pytest.mark.parametrize(
    ("options", "extra", "source", "by"),
    [
        ({}, lambda t, i: {"registry_category": t}, None, "field"),
        ({}, lambda t, i: {"registry_category": t} if i else {}, None, "field"),  # nine tenths have it
        ({}, lambda t, i: {"registry_category": t} if i > 3 else {}, lambda t, i: t, "source"),
        ({}, None, lambda t, i: f"{t}/{i}", "clusters"),  # every skill has a source of its own
        ({}, lambda t, i: {"category": "all"}, None, "clusters"),
        ({"field": "meta.kind"}, lambda t, i: {"meta": {"kind": [t, "x"]}}, None, "field"),
        ({"by": "source"}, lambda t, i: {"category": i}, lambda t, i: t, "source"),
        ({"by": "field"}, lambda t, i: {"major": t}, lambda t, i: "one", "field"),
        ({"by": "clusters"}, lambda t, i: {"category": "x"}, None, "clusters"),
    ],
)
def test_where_categories_come_from(options, extra, source, by):
    corpus = pool(extra, source)
    found = find_categories(corpus, CategoryOptions(**options), seed=0)
    assert found.facts["by"] == by
    assert len(found.labels) == len(corpus)
    labelled = found.labels >= 0
    pairs = set(zip(np.array(topics_of(corpus))[labelled], found.labels[labelled].tolist(), strict=True))
    assert len(pairs) == 3
    assert found.facts["categories"] == 3
    assert found.facts["without_category"] == int((~labelled).sum())


def test_a_named_field_is_taken_however_few_have_it():
    corpus = pool(lambda t, i: {"kind": t} if i == 0 else {})
    found = find_categories(corpus, CategoryOptions(field="kind"), seed=0)
    assert found.facts == {"by": "field", "field": "kind", "categories": 3, "largest": 1, "without_category": 27}


def test_within_and_outside_leave_out_skills_without_a_category():
    corpus = pool(lambda t, i: {"kind": t} if i < 2 else {})
    found = find_categories(corpus, CategoryOptions(field="kind"), seed=0)
    ids = np.array(corpus.ids)
    mail = found.of([corpus.ids.index("mail/00"), corpus.ids.index("mail/09")])
    assert ids[found.within(mail)].tolist() == ["mail/00", "mail/01"]
    assert sorted(ids[found.outside(mail)]) == ["cloud/00", "cloud/01", "pdf/00", "pdf/01"]
    assert found.of([corpus.ids.index("mail/09")]) == ()
    assert len(found.within(())) == 0
    assert len(found.outside(())) == 6


@pytest.mark.parametrize("with_vectors", [False, True])
def test_clusters_find_the_topics_and_follow_the_seed(with_vectors):
    corpus = pool()
    rng = np.random.default_rng(1)
    centres = {topic: rng.normal(size=16) for topic in TOPICS}
    vectors = np.array([centres[topic] + 0.05 * rng.normal(size=16) for topic in topics_of(corpus)])
    options = CategoryOptions(by="clusters", clusters=3)
    given = vectors if with_vectors else None
    one, two = (find_categories(corpus, options, seed=3, vectors=given) for _ in range(2))
    assert is_by_topic(corpus, one)
    assert one.labels.tolist() == two.labels.tolist()
    assert one.facts["of"] == ("vectors" if with_vectors else "texts")


def test_the_number_of_clusters_follows_the_pool():
    assert find_categories(pool(count=20), CategoryOptions(by="clusters"), seed=0).facts["categories"] == 6
    assert find_categories(pool(count=2), CategoryOptions(by="clusters"), seed=0).facts["categories"] == 2


def test_clusters_are_equal_in_another_process():
    code = (
        "import sys; sys.path.insert(0, 'tests/data'); sys.path.insert(0, 'tests')\n"
        "from test_categories import *\n"
        "print(find_categories(pool(), CategoryOptions(by='clusters', clusters=5), seed=1).labels.tolist())"
    )
    run = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(1)]
    here = find_categories(pool(), CategoryOptions(by="clusters", clusters=5), seed=1).labels.tolist()
    assert run[0].stdout.strip() == str(here)


@pytest.mark.parametrize(
    ("options", "extra", "message"),
    [
        ({"field": "registry_catgory"}, None, "did you mean registry_category"),
        ({"by": "field"}, None, "no skill has it"),
        ({"by": "source"}, None, "no skill names its source"),
        ({"field": "kind"}, lambda t, i: {"kind": "same"}, "all skills have one value, 'same'"),
        ({"by": "clusters", "clusters": 31}, None, "has 30 skills only"),
    ],
)
def test_what_tells_nothing_apart_is_refused(options, extra, message):
    with pytest.raises(UserError, match=message):
        find_categories(pool(extra), CategoryOptions(**options), seed=0)


def test_a_field_beside_another_origin_is_refused():
    with pytest.raises(UserError, match="is not read when categories come by source"):
        CategoryOptions(by="source", field="category")
