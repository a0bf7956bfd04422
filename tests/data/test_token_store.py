"""Tokens kept in an Arrow file: exact, reused only for the same content."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from skillfit.data.token_store import BLOCK, TokenStore


def lengths_as_ids(texts: Sequence[str]) -> list[np.ndarray]:
    return [np.array([len(word) for word in text.split()], np.int32) for text in texts]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    texts = [f"{'a ' * (i % 7 + 1)}{'b' * i}" for i in range(BLOCK + 3)]
    store = TokenStore.build(texts, lengths_as_ids, tmp_path, key="k", what="texts")
    assert len(store) == len(texts)
    for row, ids in enumerate(lengths_as_ids(texts)):
        assert store[row].tolist() == ids.tolist()
        assert store.lengths[row] == len(ids)
    again = pickle.loads(pickle.dumps(store))
    assert again[BLOCK + 1].tolist() == store[BLOCK + 1].tolist()


def test_the_file_is_reused_for_the_same_texts_and_key_alone(tmp_path: Path) -> None:
    made: list[int] = []

    def counted(texts: Sequence[str]) -> list[np.ndarray]:
        made.append(len(texts))
        return lengths_as_ids(texts)

    for texts, key in ((["a b"], "k"), (["a b"], "k"), (["a c"], "k"), (["a b"], "other window")):
        TokenStore.build(texts, counted, tmp_path, key=key, what="texts")
    assert made == [1, 1, 1]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_failing_tokenizer_leaves_no_file(tmp_path: Path) -> None:
    def broken(texts: Sequence[str]) -> list[np.ndarray]:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        TokenStore.build(["a"], broken, tmp_path, key="k", what="texts")
    assert not list(tmp_path.iterdir())
