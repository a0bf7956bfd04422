"""Batches: each distinct document once, answers never negatives, chunks that change nothing."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import torch

from skillfit.data.collate import RetrieverBatch, RetrieverCollate, TextRows
from skillfit.data.examples import Pair
from skillfit.data.token_store import TokenStore
from skillfit.models.tokens import length_batches

SKILLS = ["s0", "s1", "s2", "s3", "s4"]
PASSAGES = {"s0": (1,), "s1": (3, 2), "s2": (5,), "s3": (2,), "s4": (4,), "other:s1": (7,)}  # lengths of the texts


def pad(rows: list[np.ndarray]) -> dict[str, torch.Tensor]:
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def text_rows(folder: Path, lengths: dict[str, tuple[int, ...]], tokens: int) -> TextRows:
    """A text is n times its own number."""
    flat = [n for row in lengths.values() for n in row]
    store = TokenStore.build(
        [f"{number} {n}" for number, n in enumerate(flat, 1)],
        lambda texts: [np.full(int(t.split()[1]), int(t.split()[0]), np.int32) for t in texts],
        folder,
        key="",
        what="texts",
    )
    counter = iter(range(len(flat)))
    rows = {key: tuple(next(counter) for _ in row) for key, row in lengths.items()}
    return TextRows(store, rows, pad, functools.partial(length_batches, tokens=tokens))


@pytest.fixture
def collate(tmp_path: Path) -> RetrieverCollate:
    return make(tmp_path, 1000)


def make(folder: Path, tokens: int) -> RetrieverCollate:
    queries = text_rows(folder / "q", {"q0": (2,), "q1": (1,), "q2": (3,)}, tokens)
    documents = text_rows(folder / "d", PASSAGES, tokens)
    return RetrieverCollate(queries, documents, {skill: i for i, skill in enumerate(SKILLS)})


PAIRS = [
    Pair("q0", "s1", frozenset({"s1", "s3"}), negatives=("s2", "s3")),  # s3 is an answer, so it is no negative
    Pair("q1", "s0", frozenset({"s0"}), negatives=("s4", "s1"), teacher={"s0": 2.0, "s4": -1.0}),
    Pair("q2", "s1", frozenset({"s1"})),
]


def texts_in_order(chunks: list[dict[str, torch.Tensor]], order: torch.Tensor) -> list[int]:
    """The number of each text, and that its tokens came through whole."""
    seen = [(int(ids[0]), int(mask.sum())) for c in chunks for ids, mask in zip(*c.values(), strict=True)]
    return [seen[i][0] for i in order.tolist()]


def test_columns_are_distinct_documents_positives_first(collate: RetrieverCollate) -> None:
    batch = collate(PAIRS)
    assert batch.skills.tolist() == [1, 0, 2, 4]
    assert batch.positive.tolist() == [0, 1, 0]
    assert batch.mined.tolist() == [False, False, True, True]
    assert batch.own.tolist() == [
        [False, False, True, False],
        [True, False, False, True],
        [False, False, False, False],
    ]
    assert batch.owner.tolist() == [0, 0, 1, 2, 3]  # s1 has two passages
    assert texts_in_order(batch.documents, batch.document_order) == [2, 3, 1, 4, 6]
    assert texts_in_order(batch.queries, batch.query_order) == [1, 2, 3]
    assert batch.answers.tolist() == [[1, 3], [0, -1], [1, -1]]
    assert len(batch) == 3


@pytest.mark.parametrize("tokens", [1, 4, 6, 1000])
def test_chunks_hold_the_budget_and_lose_no_text(tmp_path: Path, tokens: int) -> None:
    batch = make(tmp_path, tokens)(PAIRS)
    assert texts_in_order(batch.documents, batch.document_order) == [2, 3, 1, 4, 6]
    for chunk in batch.documents + batch.queries:
        rows, width = chunk["input_ids"].shape
        assert rows * width <= tokens or rows == 1


def test_teacher_scores_stand_in_their_columns(collate: RetrieverCollate) -> None:
    teacher = collate(PAIRS).teacher
    assert teacher is not None
    assert teacher[1].tolist()[1] == 2.0
    assert teacher[1].tolist()[3] == -1.0
    assert int(teacher.isnan().sum()) == 12 - 2
    assert collate(PAIRS[:1]).teacher is None


def test_a_pair_with_its_own_document_keeps_the_skills_number(collate: RetrieverCollate) -> None:
    batch: RetrieverBatch = collate([Pair("q0", "s1", frozenset({"s1"}), document="other:s1"), PAIRS[2]])
    assert batch.skills.tolist() == [1, 1]  # two texts of one skill: each is an answer to the other's query
    assert batch.keys.unique().numel() == 2
    assert texts_in_order(batch.documents, batch.document_order) == [7, 2, 3]
