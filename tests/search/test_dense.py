"""Dense search and its shards, on a tiny random encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fakes import WORDS, ListPool
from skillfit.data.views import TextView
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.search import embeddings
from skillfit.search.dense import DenseRetriever, rank_all
from skillfit.search.embeddings import pool_embeddings
from skillfit.types import Query, Skill

FULL = TextView(name="full", fields=("name", "description", "body"))
ND = TextView(name="nd", fields=("name", "description"))


def make_pool(count: int = 20) -> ListPool:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(count)]
    return ListPool([Skill(f"s{i:02d}", text.split()[0], text, text[::-1]) for i, text in enumerate(texts)])


def shard_files(cache: Path) -> list[Path]:
    return sorted(cache.glob("embeddings/*/*.safetensors"))


def test_rankings_equal_brute_force(tiny_encoder):
    pool, encoder = make_pool(), BiEncoder.load(str(tiny_encoder))
    queries = [Query("q1", "pdf table"), Query("q2", "rotate key please")]
    run, facts = DenseRetriever(view=FULL, model=str(tiny_encoder), depth=7).search(pool, queries)
    skills = encoder.encode([FULL.skill_text(skill) for skill in pool], "document")
    for query, vector in zip(queries, encoder.encode([q.text for q in queries], "query"), strict=True):
        scores = skills @ vector
        expected = sorted(range(len(pool)), key=lambda i: (-scores[i], pool.ids[i]))[:7]
        assert run.ranked(query.query_id) == tuple(pool.ids[i] for i in expected)
    assert facts.facts["retriever"]["kind"] == "dense"
    assert (
        facts.facts["cut_by_window"]["skills"] == 1.0
    )  # reversed words are spelled in letters and overfill the window


def test_an_exact_copy_ties_and_skill_id_decides():
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    run = rank_all(["b", "a", "c"], vectors, ["q"], np.array([[1, 0]], np.float32), 2)
    assert run.ranked("q") == ("a", "b")


def test_up36_shards_are_reused_only_for_the_same_texts_model_and_view(tiny_encoder, tmp_path):
    pool, encoder = make_pool(), BiEncoder.load(str(tiny_encoder))
    first = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    again = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    assert (first.reused, again.reused) == (0, 1)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    changed = ListPool([*pool.skills[:-1], Skill("s19", "pdf", "another text of one skill", "")])
    other_prompt = BiEncoder.load(str(tiny_encoder), document_prompt="skill: ")
    other_window = BiEncoder.load(str(tiny_encoder), max_length=16)
    for encoder_, pool_, view in (
        (encoder, changed, FULL),
        (encoder, pool, ND),
        (other_prompt, pool, FULL),
        (other_window, pool, FULL),
    ):
        assert pool_embeddings(encoder_, pool_, view, cache=tmp_path).reused == 0


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_shard_is_made_anew(tiny_encoder, tmp_path, damage):
    pool, encoder = make_pool(), BiEncoder.load(str(tiny_encoder))
    first = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    [shard] = shard_files(tmp_path)
    shard.write_bytes(shard.read_bytes()[:-4] if damage is None else damage)
    again = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    assert again.reused == 0
    np.testing.assert_array_equal(first.vectors, again.vectors)


def test_an_interrupted_encoding_resumes_to_the_same_vectors(tiny_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(embeddings, "SHARD", 6)
    pool, encoder = make_pool(), BiEncoder.load(str(tiny_encoder))
    whole = pool_embeddings(encoder, pool, FULL, cache=None)
    encode, calls = BiEncoder.encode, []

    def dying(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, *args, **kwargs)

    monkeypatch.setattr(BiEncoder, "encode", dying)
    with pytest.raises(KeyboardInterrupt):
        pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    monkeypatch.setattr(BiEncoder, "encode", encode)
    assert len(shard_files(tmp_path)) == 2
    resumed = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    assert (resumed.reused, resumed.shards) == (2, 4)
    np.testing.assert_array_equal(resumed.vectors, whole.vectors)
    assert resumed.cut == whole.cut


def test_up65_a_view_other_than_the_trained_one_is_told(tiny_encoder, tmp_path, caplog):
    folder = tmp_path / "model"
    BiEncoder.load(str(tiny_encoder)).save(folder, {"view": ND.settings()})
    DenseRetriever(view=FULL, model=str(folder)).search(make_pool(), [Query("q", "pdf")])
    assert "was trained on view nd" in caplog.text
    caplog.clear()
    DenseRetriever(view=ND, model=str(folder)).search(make_pool(), [Query("q", "pdf")])
    assert caplog.text == ""


@pytest.mark.parametrize("name", ["./no/such/folder", "nofolder", "a/b/c", ""])
def test_a_model_that_is_not_there_is_refused_before_anything_loads(name):
    with pytest.raises(UserError, match="model"):
        DenseRetriever(view=FULL, model=name)
