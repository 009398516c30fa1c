"""Sentences that a tagger got wrong, the most certain mistake first."""

import numpy as np
import pytest

from pipelines.data.examples import TaggedExample
from pipelines.tagging.mistakes import sentence_mistakes

pytestmark = pytest.mark.backend_free


def test_sentences_come_by_their_most_certain_mistake():
    examples = [
        TaggedExample(("in", "Rome"), ("O", "B-LOC"), "f:1"),
        TaggedExample(("Ann", "Lee"), ("B-PER", "I-PER"), "f:4", id="x"),
        TaggedExample(("so",), ("O",), "f:7"),
    ]
    results = [
        (["O", "O"], np.array([0.99, 0.7])),
        (["B-PER", "B-PER"], np.array([0.95, 0.8])),
        (["O"], np.array([0.4])),
    ]
    first, second = sentence_mistakes(examples, results, "BIOES")
    assert first == {
        "text": "Ann Lee",
        "tokens": ["Ann", "Lee"],
        "gold": ["B-PER", "E-PER"],
        "predicted": ["S-PER", "S-PER"],
        "scores": [0.95, 0.8],
        "wrong": [1],
        "score": 0.8,
        "where": "f:4",
        "id": "x",
    }
    assert (second["text"], second["wrong"]) == ("in Rome", [1])
    assert second["gold"] == ["O", "S-LOC"]
