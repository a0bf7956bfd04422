"""Which passages of a skill are trained on."""

from __future__ import annotations

import numpy as np

from skillfit.data.examples import Pair, PairSet
from skillfit.training.passage_choice import choose_passages
from skillfit.training.retriever_data import TrainingTexts

DIRECTIONS = {"up": (0.0, 1.0), "right": (1.0, 0.0), "between": (0.7, 0.7), "down": (0.0, -1.0)}


class Compass:
    """An encoder of four words."""

    def encode(self, texts, kind, *, dtype=None):
        return np.array([DIRECTIONS[text] for text in texts], np.float32)


def test_each_pair_gets_the_passages_nearest_to_its_query():
    texts = TrainingTexts(
        {"q1": "up", "q2": "right"}, {"s": ("down", "between", "right", "up"), "n": ("down", "right")}
    )
    pairs = PairSet(
        (
            Pair("q1", "s", frozenset({"s"}), negatives=("n",)),
            Pair("q2", "s", frozenset({"s"}), negatives=("n",)),
        ),
        texts.queries,
    )
    chosen, kept = choose_passages(pairs, texts, Compass(), 1, "float32")  # type: ignore[arg-type]
    assert [kept.documents[pair.document] for pair in chosen.pairs] == [("up",), ("right",)]
    assert kept.documents["n"] == ("right",)  # best with q2
    two, kept = choose_passages(pairs, texts, Compass(), 2, "float32")  # type: ignore[arg-type]
    assert kept.documents[two.pairs[0].document] == ("between", "up")  # in the order of the text
    assert kept.documents["n"] == ("down", "right")
    assert {pair.skill_id for pair in two.pairs} == {"s"}
