"""Copies: the fast search finds exactly the pairs that comparing everything with everything finds."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfit.data import copies
from skillfit.data.copies import CopyFinder, expand, jaccard, near_pairs, shingle_hashes
from skillfit.errors import UserError


def tuples(text: str, width: int = 5) -> set[tuple[str, ...]]:
    words = text.lower().split()
    width = min(width, len(words))
    return {tuple(words[i : i + width]) for i in range(len(words) - width + 1)} if words else set()


def brute_force(texts: list[str], threshold: float) -> dict[tuple[int, int], float]:
    sets = [tuples(text) for text in texts]
    found = {}
    for i, j in combinations(range(len(texts)), 2):
        union = len(sets[i] | sets[j])
        similarity = len(sets[i] & sets[j]) / union if union else 0.0
        if similarity >= threshold:
            found[i, j] = similarity
    return found


def fast(texts: list[str], threshold: float) -> dict[tuple[int, int], float]:
    left, right, similarity = near_pairs([shingle_hashes(text.lower().split()) for text in texts], threshold)
    return {(int(i), int(j)): float(s) for i, j, s in zip(left, right, similarity, strict=True)}


def edited(rng: random.Random, words: list[str]) -> list[str]:
    out = list(words)
    for _ in range(rng.randint(0, 6)):
        at = rng.randrange(len(out))
        out[at : at + rng.randint(0, 2)] = [rng.choice("abcdef") for _ in range(rng.randint(0, 2))] or ["z"]
    return out


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_against_brute_force(threshold: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_BLOCK", 64)  # many blocks, so that their borders are crossed
    rng = random.Random(seed)
    texts = []
    for _ in range(12):
        words = [rng.choice("abcdefghij") for _ in range(rng.randint(1, 60))]
        texts += [" ".join(edited(rng, words)) for _ in range(6)]
    expected = brute_force(texts, threshold)
    assert fast(texts, threshold) == pytest.approx(expected)
    assert expected or threshold == 1.0


@given(st.lists(st.text(alphabet="ab ", max_size=30), max_size=8), st.sampled_from([0.3, 0.7, 1.0]))
def test_against_brute_force_on_degenerate_texts(texts: list[str], threshold: float) -> None:
    assert fast(texts, threshold) == pytest.approx(brute_force(texts, threshold))


def test_the_threshold_itself_counts() -> None:
    one, other = np.arange(10, dtype=np.uint64), np.arange(3, 10, dtype=np.uint64)
    assert jaccard(one, other) == 0.7
    assert len(near_pairs([one, other], 0.7)[0]) == 1
    assert len(near_pairs([one, other], 0.71)[0]) == 0


def test_equal_bodies_differ_in_case_and_blanks_only() -> None:
    finder = CopyFinder(0.7)
    for skill_id, body in (
        ("c", "Do  this\nnow"),
        ("b", "do this NOW"),
        ("a", "do this then"),
        ("e", ""),
        ("f", " \n"),
    ):
        finder.add(skill_id, body)
    assert finder.groups() == {"b": "b", "c": "b"}


def test_near_copies_name_all_of_the_other_group_and_none_of_their_own() -> None:
    base = [f"w{i}" for i in range(60)]
    finder = CopyFinder(0.7)
    finder.add("a", " ".join(base))
    finder.add("b", " ".join([*base, "more"]))
    finder.add("b2", " ".join([*base, "MORE"]))
    finder.add("z", "something else entirely, with words of its own")
    near, pairs = finder.near()
    assert near == {"a": ("b", "b2"), "b": ("a",), "b2": ("a",)}
    assert pairs == 1
    assert expand(near, finder.groups()) == {s: frozenset({"a", "b", "b2"}) for s in ("a", "b", "b2")}


def test_near_copies_can_be_left_unsearched() -> None:
    finder = CopyFinder(None)
    finder.add("a", "x y z")
    finder.add("b", "x y z")
    assert finder.near() == ({}, 0)
    assert finder.groups() == {"a": "a", "b": "a"}


def test_hashes_are_the_same_in_every_process() -> None:
    code = "from skillfit.data.copies import shingle_hashes as s; print(s('a b c d e f g'.split()).tolist())"
    runs = {
        subprocess.check_output([sys.executable, "-c", code], text=True, env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(runs) == 1


def test_too_many_pairs_are_refused_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_PAIRS", 10)
    with pytest.raises(UserError, match="over 10 pairs"):
        fast(["the same words again and again"] * 6, 0.7)


def test_one_body_in_a_thousand_variants_is_quick() -> None:
    base = [f"w{i}" for i in range(400)]
    texts = [" ".join([*base[:i], "changed", *base[i + 1 :]]) for i in range(300)]
    assert len(fast(texts, 0.9)) == 300 * 299 // 2
