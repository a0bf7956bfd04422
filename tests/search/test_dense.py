"""Dense search and its shards, on a tiny random encoder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fakes import WORDS, ListPool
from skillfit.data.passages import PassageOptions
from skillfit.data.views import TextView
from skillfit.errors import UserError
from skillfit.models.bi_encoder import BiEncoder
from skillfit.search import embeddings
from skillfit.search.dense import DenseRetriever
from skillfit.search.embeddings import pool_embeddings
from skillfit.search.exact import rank_all
from skillfit.types import Query, Skill

FULL = TextView(name="full", fields=("name", "description", "body"))
ND = TextView(name="nd", fields=("name", "description"))
PIECES = TextView(
    name="passages", fields=("name", "description", "body"), passages=PassageOptions(size=50, most=3, description=20)
)


def make_pool(count: int = 20) -> ListPool:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(count)]
    return ListPool([Skill(f"s{i:02d}", text.split()[0], text, text[::-1]) for i, text in enumerate(texts)])


def long_pool(count: int = 20) -> ListPool:
    """Bodies of one to six passages, every fifth skill a copy of the first but for its id."""
    rng = np.random.default_rng(1)
    skills = [
        Skill(
            f"s{i:02d}",
            f"name {i}",
            "read a pdf table",
            "\n\n".join(" ".join(rng.choice(WORDS, 8)) for _ in range(i % 6 + 1)),
        )
        for i in range(count)
    ]
    return ListPool([replace(skills[0], skill_id=s.skill_id) if i % 5 == 0 else s for i, s in enumerate(skills)])


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


@pytest.mark.parametrize("damage", ["empty", "garbage", "short", "one bit"])
def test_a_damaged_shard_is_made_anew(tiny_encoder, tmp_path, damage, caplog):
    pool, encoder = make_pool(), BiEncoder.load(str(tiny_encoder))
    first = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    [shard] = shard_files(tmp_path)
    whole = shard.read_bytes()
    flipped = whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:]  # a finite number still
    shard.write_bytes({"empty": b"", "garbage": b"garbage", "short": whole[:-4], "one bit": flipped}[damage])
    again = pool_embeddings(encoder, pool, FULL, cache=tmp_path)
    assert again.reused == 0
    assert "is damaged and is made anew" in caplog.text
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert pool_embeddings(encoder, pool, FULL, cache=tmp_path).reused == 1


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


@pytest.mark.parametrize("view", [FULL, PIECES])
def test_up11_copies_in_different_shards_have_the_same_vectors_and_tie(tiny_encoder, tmp_path, monkeypatch, view):
    monkeypatch.setattr(embeddings, "SHARD", 6)
    pool, encoder = long_pool(), BiEncoder.load(str(tiny_encoder))
    for cache in (None, tmp_path, tmp_path):
        found = pool_embeddings(encoder, pool, view, cache=cache)
        for i in range(5, 20, 5):
            np.testing.assert_array_equal(found.vectors[found.starts[i]], found.vectors[0])
    shards = shard_files(tmp_path)
    assert len(shards) > 2
    shards[0].unlink()  # made again beside copies from before: still the same bits
    encode = BiEncoder.encode
    monkeypatch.setattr(BiEncoder, "encode", lambda *args, **options: encode(*args, **options) + np.float32(1e-6))
    found = pool_embeddings(encoder, pool, view, cache=tmp_path)
    assert (found.reused, found.shards) == (len(shards) - 1, len(shards))
    for i in range(5, 20, 5):
        np.testing.assert_array_equal(found.vectors[found.starts[i]], found.vectors[0])


def test_passages_are_ranked_by_their_best_and_resume_byte_for_byte(tiny_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(embeddings, "SHARD", 9)
    pool, encoder = long_pool(), BiEncoder.load(str(tiny_encoder))
    texts = [PIECES.skill_texts(skill) for skill in pool]
    queries = [Query("q1", "pdf table"), Query("q2", "rotate the key please")]
    whole = pool_embeddings(encoder, pool, PIECES, cache=tmp_path)
    assert np.diff(whole.starts).tolist() == [len(several) for several in texts]
    assert max(map(len, texts)) == 3
    shard_files(tmp_path)[1].unlink()
    again = pool_embeddings(encoder, pool, PIECES, cache=tmp_path)
    assert (again.reused, again.shards) == (whole.shards - 1, whole.shards)
    np.testing.assert_array_equal(again.vectors, whole.vectors)
    for score, reduce in (("max", np.max), ("mean", np.mean)):
        view = replace(PIECES, passages=replace(PIECES.passages, score=score))
        run, facts = DenseRetriever(view=view, model=str(tiny_encoder), cache=tmp_path, depth=20).search(pool, queries)
        told = facts.facts["embeddings"]
        assert told["reused"] == told["shards"] == whole.shards  # the way of scoring makes no new vectors
        assert (told["texts"], told["texts_per_skill"]) == (len(whole.vectors), len(whole.vectors) / 20)
        assert told["mib"] == whole.vectors.nbytes / 2**20
        assert facts.facts["cut_by_caps"]["passages"] > 0
        for query, vector in zip(queries, encoder.encode([q.text for q in queries], "query"), strict=True):
            expected = [reduce(encoder.encode(several, "document") @ vector) for several in texts]
            found = dict(zip(run[query.query_id].skill_ids, run[query.query_id].scores, strict=True))
            np.testing.assert_allclose([found[skill_id] for skill_id in pool.ids], expected, atol=2e-6)
            assert found["s00"] == found["s05"] == found["s10"] == found["s15"]


def test_a_view_with_one_text_a_skill_has_one_row_a_skill(tiny_encoder):
    found = pool_embeddings(BiEncoder.load(str(tiny_encoder)), make_pool(), FULL, cache=None)
    assert found.starts.tolist() == list(range(21))
    assert found.facts()["texts_per_skill"] == 1.0


def test_bfloat16_has_its_own_shards_and_nearly_the_same_scores(tiny_encoder, tmp_path):
    pool, queries = make_pool(), [Query("q", "pdf table")]
    runs = {}
    for dtype in ("float32", "bfloat16"):
        searcher = DenseRetriever(view=FULL, model=str(tiny_encoder), cache=tmp_path, dtype=dtype)
        run, facts = searcher.search(pool, queries)
        assert facts.facts["embeddings"]["reused"] == 0
        assert facts.facts["retriever"]["dtype"] == dtype
        runs[dtype] = dict(zip(run["q"].skill_ids, run["q"].scores, strict=True))
    for skill_id, score in runs["float32"].items():
        assert runs["bfloat16"][skill_id] == pytest.approx(score, abs=0.01)
    assert runs["bfloat16"] != runs["float32"]


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


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"device": "cuda:97"}, "this machine has"),
        ({"device": "warp"}, "no device"),
        ({"max_length": 129}, "128 positions"),
    ],
)
def test_a_device_or_window_that_is_not_there_is_refused_before_anything_loads(tiny_encoder, wrong, told):
    with pytest.raises(UserError, match=told):
        DenseRetriever(view=FULL, model=str(tiny_encoder), **wrong)
