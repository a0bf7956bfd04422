"""Dev skills apart from train skills, smaller pools, parts of a corpus."""

from __future__ import annotations

import pickle

import pytest

from skillfit.data.benchmark import Benchmark, make_benchmark
from skillfit.data.corpus import Corpus, write_skills
from skillfit.data.named import TriggerData
from skillfit.data.splits import dev_skills, reduced, with_split
from skillfit.errors import UserError
from skillfit.types import Qrels, Query, Skill


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    skills = [Skill(f"s{i:03d}", f"name {i}", "", f"body {i}") for i in range(200)]
    skills[1] = Skill("s001", "Name-0", "", "body 1")  # named as s000
    skills[2] = Skill("s002", "two", "", "body 3", copy_group="s002")
    skills[3] = Skill("s003", "three", "", "body 3", copy_group="s002")
    return write_skills(tmp_path / "corpus.arrow", skills)


def test_same_names_copies_and_answers_of_one_query_stay_together(corpus):
    together = [frozenset({"s010", "s011"})]
    for seed in range(30):
        dev = dev_skills(corpus.ids, together, corpus, share=0.3, seed=seed)
        assert 60 <= len(dev) <= 62
        for one, other in (("s000", "s001"), ("s002", "s003"), ("s010", "s011")):
            assert (one in dev) == (other in dev)
    found = [dev_skills(order(corpus.ids), [], corpus, share=0.3, seed=1) for order in (list, reversed)]
    assert found[0] == found[1]


def benchmark(corpus: Corpus) -> Benchmark:
    queries = [Query(f"q{i}", f"text {i}", {"split": "train" if i % 4 else "dev"}) for i in range(40)]
    qrels = Qrels({f"q{i}": frozenset({f"s{i:03d}"}) for i in range(40)}, {"q1": {"s150": 0}})
    return make_benchmark("toy", corpus, queries, qrels, unknown="error", place="toy")


def test_a_reduced_pool_keeps_every_judged_skill(corpus):
    small = reduced(benchmark(corpus), pool=50, train=10)
    assert len(small.corpus) == 50
    assert small.splits() == {"train": 10, "dev": 10}
    assert small.qrels.skill_ids() <= set(small.corpus.ids)
    for query in small.queries:
        assert small.qrels.required[query.query_id] <= set(small.corpus.ids)
    assert small.facts["corpus_hash"] == small.corpus.content_hash != corpus.content_hash
    assert reduced(benchmark(corpus), pool=50, train=10).corpus.ids == small.corpus.ids
    assert reduced(benchmark(corpus), pool=50, train=10, seed=1).corpus.ids != small.corpus.ids
    with pytest.raises(UserError, match=r"pool_size = 5: the queries judge 41 skills"):
        reduced(benchmark(corpus), pool=5, train=None)


def test_a_part_of_a_corpus_is_a_corpus(corpus):
    part = corpus.part(["s199", "s003", "s002", "s050", "s051"])
    assert part.ids == ("s002", "s003", "s050", "s051", "s199")
    assert [skill.skill_id for skill in part] == list(part.ids)
    assert part.get("s050").body == "body 50"
    assert "s004" not in part
    assert len(part) == 5
    assert part.copies() == {"s002": {"s002", "s003"}, "s003": {"s002", "s003"}}
    assert corpus.part(["s002"]).copies() == {}
    again = pickle.loads(pickle.dumps(part))
    assert again.ids == part.ids
    assert again.content_hash == part.content_hash
    for ask in (lambda: part.get("s004"), lambda: part.part(["s004"]), lambda: corpus.part(["nope"])):
        with pytest.raises(UserError, match="is not among"):
            ask()


def test_with_split_leaves_unjudged_queries_out():
    queries = [Query("a", "a"), Query("b", "b"), Query("none", "c"), Query("unknown", "d")]
    required = {"a": frozenset({"x"}), "b": frozenset({"x", "y"}), "none": frozenset()}
    split = {query.query_id: query.groups["split"] for query in with_split(queries, required, frozenset({"y"}))}
    assert split == {"a": "train", "b": "dev"}


def test_real_trigger_queries_are_split_by_skill(skillfit_data, tmp_path_factory):
    cache = tmp_path_factory.getbasetemp() / "real"
    found = TriggerData(pool_size=3000, train_queries=1000).load_all(cache, unknown=None)
    assert found.splits()["train"] == 1000
    asked = {split: set() for split in ("train", "dev")}
    for query in found.queries:
        asked[query.groups["split"]] |= found.qrels.required[query.query_id]
    assert not asked["train"] & asked["dev"]
    assert len(found.corpus) == 3000
    more = TriggerData(clean=False).load_all(cache, unknown=None).splits()
    clean = TriggerData().load_all(cache, unknown=None).splits()
    assert more["train"] > clean["train"]
    assert more["dev"] == clean["dev"] == len(TriggerData(part="dev").load(cache, unknown=None).queries)
