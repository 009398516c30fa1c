"""What a classifier got wrong, in the order of how wrong it was."""

import numpy as np
import pytest

from pipelines.classification.mistakes import text_mistakes
from pipelines.data.examples import TextExample

pytestmark = pytest.mark.backend_free
LABELS = ("a", "b", "c")


def mistakes(examples, scores, **settings):
    return list(text_mistakes(examples, np.array(scores), LABELS, settings))


def test_the_least_likely_right_label_comes_first():
    examples = [
        TextExample("fine", label="a", where="f:1"),
        TextExample("near", label="b", where="f:2"),
        TextExample("far", "pair", label="c", where="f:3", id=7),
        TextExample("new", label="kiwi", where="f:4"),
    ]
    scores = [[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.9, 0.05, 0.05], [0, 0, 1.0]]
    found = mistakes(examples, scores, problem="single_label")
    assert found == [
        {
            "text": "new",
            "gold": "kiwi",
            "predicted": "c",
            "score": 1.0,
            "gold_score": 0.0,
            "where": "f:4",
        },
        {
            "text": "far",
            "text_pair": "pair",
            "gold": "c",
            "predicted": "a",
            "score": 0.9,
            "gold_score": 0.05,
            "where": "f:3",
            "id": 7,
        },
        {
            "text": "near",
            "gold": "b",
            "predicted": "a",
            "score": 0.5,
            "gold_score": 0.4,
            "where": "f:2",
        },
    ]
    found = mistakes(
        examples, scores, problem="single_label", abstain_below=0.6
    )
    assert [row["text"] for row in found] == ["new", "far"]


def test_several_labels_are_wrong_as_a_set():
    examples = [
        TextExample("right", label=("a", "b")),
        TextExample("half", label=("a",)),
        TextExample("all", label=("c",)),
        TextExample("none", label=()),
    ]
    scores = [[0.9, 0.8, 0.1], [0.9, 0.8, 0], [0.9, 0.9, 0.1], [0.6, 0.2, 0.2]]
    found = mistakes(examples, scores, problem="multi_label")
    assert [row["text"] for row in found] == ["all", "half", "none"]
    assert found[0]["gold"] == ["c"]
    assert found[0]["predicted"] == ["a", "b"]
    assert found[0]["score"] == {"a": 0.9, "b": 0.9, "c": 0.1}


def test_numbers_are_wrong_by_their_distance():
    examples = [TextExample(str(i), label=float(i)) for i in range(3)]
    found = mistakes(examples, [[0.0], [1.5], [-2.0]], problem="regression")
    assert [(row["text"], row["gold"], row["predicted"]) for row in found] == [
        ("2", 2.0, -2.0),
        ("1", 1.0, 1.5),
    ]
