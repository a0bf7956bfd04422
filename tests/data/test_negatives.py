"""The mined file's round trip and refusals, and how negatives are bound to training pairs."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skillfit.data.examples import Pair, PairSet
from skillfit.data.negatives import MinedQuery, Negative, NegativeOptions, attach, read_mined, write_mined
from skillfit.errors import UserError
from skillfit.io import read_json

HASH = "0" * 64
POOL = tuple("abcdefgh")
ROWS = (
    MinedQuery("q", (Negative("b", "semantic", 2, 0.5), Negative("c", "random")), {"a": 3.0, "b": -1.5}),
    MinedQuery("é 1", (Negative("d", "lexical", 1, 7.25),)),
    MinedQuery("empty", ()),
)


@pytest.fixture
def folder(tmp_path):
    write_mined(tmp_path / "mined", ROWS, {"corpus_hash": HASH, "counts": {"written": 3}})
    return tmp_path / "mined"


@pytest.mark.parametrize("part", ["", "negatives.jsonl"])
def test_round_trip(folder, part):
    mined = read_mined(folder / part, HASH, known=set(POOL))
    assert dict(mined) == {"q": ("b", "c"), "é 1": ("d",), "empty": ()}
    assert mined.teacher == {"q": {"a": 3.0, "b": -1.5}}
    assert mined.manifest["counts"] == {"written": 3}


def test_a_row_tells_kind_rank_and_score(folder):
    first = json.loads((folder / "negatives.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["negatives"] == [
        {"skill_id": "b", "kind": "semantic", "rank": 2, "score": 0.5},
        {"skill_id": "c", "kind": "random", "rank": None, "score": None},
    ]


def test_a_folder_in_use_is_not_overwritten(folder):
    before = (folder / "negatives.jsonl").read_bytes()
    with pytest.raises(UserError, match="not an empty folder"):
        write_mined(folder, ROWS[:1], {"corpus_hash": HASH})
    assert (folder / "negatives.jsonl").read_bytes() == before


def test_a_foreign_corpus_is_refused_with_both_hashes(folder):
    for path in (folder, folder / "negatives.jsonl"):
        with pytest.raises(UserError, match=f"{HASH}.*another corpus.*{'1' * 64}"):
            read_mined(path, "1" * 64)


def test_a_changed_file_is_refused(folder):
    file = folder / "negatives.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"b"', '"e"'), encoding="utf-8")
    with pytest.raises(UserError, match="was changed after mining"):
        read_mined(folder, HASH)


def test_a_file_of_ones_own_needs_no_manifest(tmp_path, caplog):
    file = tmp_path / "mine.jsonl"
    file.write_text('\ufeff\r\n{"negatives": [{"skill_id": "a"}], "query_id": 7}\r\n', encoding="utf-8")
    assert dict(read_mined(file, HASH, known=set(POOL))) == {"7": ("a",)}
    assert "is not known" in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "skillfit-import"}, "is no manifest of mined negatives"),
        ({"format_version": 9}, "format_version = 9"),
        (None, "has no manifest.json"),
    ],
)
def test_a_wrong_manifest_is_refused(folder, change, message):
    file = folder / "manifest.json"
    if change is None:
        file.unlink()
    else:
        file.write_text(json.dumps(read_json(file) | change), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_mined(folder, HASH)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query_id": "q", ', ":2: is not valid JSON"),
        ("[1]", ":2: holds a JSON list"),
        ('{"negatives": []}', ":2: query_id: is missing"),
        ('{"query_id": "p", "negatives": []}', ":2: query_id = 'p': was given before"),
        ('{"query_id": "q"}', ":2: negatives: is missing"),
        ('{"query_id": "q", "negatives": "a"}', ":2: negatives = 'a': expected a list"),
        ('{"query_id": "q", "negatives": ["a"]}', ":2: negatives = 'a': expected an object"),
        ('{"query_id": "q", "negatives": [{"skill_id": null}]}', ":2: skill_id = 'null'"),
        ('{"query_id": "q", "negatives": [{"skill_id": "zz"}]}', ":2: skill_id = 'zz': is not in the corpus"),
        ('{"query_id": "q", "negatives": [{"skill_id": "a"}, {"skill_id": "a"}]}', ":2: skill_id = 'a': is listed"),
        ('{"query_id": "q", "negatives": [], "teacher": {"zz": 1}}', ":2: skill_id = 'zz'"),
        ('{"query_id": "q", "negatives": [], "teacher": {"a": "1"}}', ":2: teacher: a = '1': give a finite"),
        ('{"query_id": "q", "negatives": [], "teacher": [1]}', ":2: teacher = [1]: expected an object"),
    ],
)
def test_a_malformed_row_is_told_with_its_place(tmp_path, line, message):
    file = tmp_path / "own.jsonl"
    file.write_text('{"query_id": "p", "negatives": []}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(f"own.jsonl{message}")):
        read_mined(file, HASH, known=set(POOL))


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "own.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no row"):
        read_mined(tmp_path / "own.jsonl", HASH)


def pairs_of(*pairs):
    return PairSet(pairs, {pair.query_id: pair.query_id for pair in pairs}, {}, {"pairs": len(pairs)})


PAIRS = pairs_of(
    Pair("q", "a", frozenset("abz")),
    Pair("q", "b", frozenset("abz")),
    Pair("r", "c", frozenset("c"), negatives=("h",)),
    Pair("s", "d", frozenset("d")),
)
MINED = {"q": ("b", "c", "d", "e"), "r": ("h", "a")}


def negatives(result):
    return {(pair.query_id, pair.skill_id): pair.negatives for pair in result.pairs}


def test_negatives_are_bound_by_query_and_never_an_answer():
    result = attach(PAIRS, MINED, pool_ids=POOL, per_query=2)
    assert negatives(result) == {
        ("q", "a"): ("c", "d"), ("q", "b"): ("c", "d"), ("r", "c"): ("h", "a"), ("s", "d"): (),
    }  # fmt: skip
    assert result.counts == {
        "pairs": 4, "negatives_full": 3, "negatives_padded": 0, "negatives_short": 1, "negatives_dropped": 0,
        "negatives_own_answers": 2, "negatives_beyond_per_query": 2, "negatives_attached": 6,
        "negatives_unmined_queries": 1,
    }  # fmt: skip
    assert result.query_texts == PAIRS.query_texts


def test_short_pairs_are_dropped_or_padded_by_name():
    dropped = attach(PAIRS, MINED, pool_ids=POOL, per_query=3, short="drop")
    assert list(negatives(dropped)) == [("q", "a"), ("q", "b")]
    assert (dropped.counts["negatives_full"], dropped.counts["negatives_dropped"]) == (2, 2)
    padded = attach(PAIRS, MINED, pool_ids=POOL, per_query=3, short="pad", seed=1)
    assert [len(found) for found in negatives(padded).values()] == [3, 3, 3, 3]
    assert negatives(padded)["r", "c"][:2] == ("h", "a")
    assert (padded.counts["negatives_full"], padded.counts["negatives_padded"]) == (4, 2)


def test_random_negatives_alone_follow_seed_and_query():
    one = attach(PAIRS, None, pool_ids=POOL, random=3, seed=1)
    assert negatives(one) == negatives(attach(PAIRS, None, pool_ids=POOL, random=3, seed=1))
    assert negatives(one) != negatives(attach(PAIRS, None, pool_ids=POOL, random=3, seed=2))
    assert [len(found) for found in negatives(one).values()] == [3, 3, 4, 3]  # r has one of its own
    assert negatives(one)["q", "a"] == negatives(one)["q", "b"]
    assert one.counts["negatives_short"] == 0


def test_teacher_scores_come_with_the_pair():
    result = attach(PAIRS, MINED, pool_ids=POOL, teacher={"q": {"a": 2.0, "c": 1.0}})
    assert [pair.teacher for pair in result.pairs] == [{"a": 2.0, "c": 1.0}] * 2 + [None] * 2


def test_a_file_for_other_queries_is_refused():
    with pytest.raises(UserError, match="none of them is a query of the training pairs"):
        attach(PAIRS, {"x": ("a",)}, pool_ids=POOL)


@given(
    st.dictionaries(st.sampled_from("qrs"), st.lists(st.sampled_from(POOL), unique=True).map(tuple), min_size=1),
    st.integers(1, 9),
    st.integers(0, 9),
    st.sampled_from(["fewer", "drop", "pad"]),
    st.integers(0, 3),
)
def test_numbers_add_up_and_no_answer_is_attached(mined, per_query, random, short, seed):
    result = attach(PAIRS, mined, pool_ids=POOL, per_query=per_query, random=random, short=short, seed=seed)
    counts = result.counts
    full, cut, dropped = (counts[f"negatives_{name}"] for name in ("full", "short", "dropped"))
    assert full + cut + dropped == len(PAIRS.pairs)
    assert len(result.pairs) == full + cut
    assert counts["negatives_attached"] == sum(len(pair.negatives) for pair in result.pairs)
    for pair in result.pairs:
        assert len(set(pair.negatives)) == len(pair.negatives) <= per_query + random
        assert not set(pair.negatives) & {*pair.answers, pair.skill_id}
        room = len(set(POOL) - pair.answers)
        if short == "pad":
            assert len(pair.negatives) == min(per_query + random, room)


def test_options():
    assert NegativeOptions() == NegativeOptions(file=None, per_query=10, random=0, short="fewer", shared=True)
    for wrong in ({"per_query": 0}, {"random": -1}, {"short": "fill"}, {"files": "x"}):
        with pytest.raises(ValidationError):
            NegativeOptions(**wrong)
