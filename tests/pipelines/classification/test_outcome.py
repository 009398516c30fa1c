"""What a report shows of a classifier's answers, worked out by hand."""

import numpy as np
import pytest

from pipelines.classification.outcome import text_outcome
from pipelines.data.examples import TextExample

pytestmark = pytest.mark.backend_free


def outcome(gold, scores, problem, **settings):
    examples = [
        TextExample(f"text {i}", None, label, f"line {i}")
        for i, label in enumerate(gold)
    ]
    settings = {"problem": problem, **settings}
    return text_outcome(
        "test", examples, np.array(scores), ("a", "b"), settings
    )


def test_the_surest_answer_of_each_text_is_right_or_not():
    found = outcome(
        ["a", "b", "a", "c"],
        [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.3, 0.7]],
        "single_label",
    )
    np.testing.assert_allclose(found.confidences, [0.9, 0.6, 0.8, 0.7])
    assert found.right.tolist() == [True, False, False, False]
    assert [m["where"] for m in found.mistakes] == [
        "line 3",
        "line 2",
        "line 1",
    ]


def test_of_several_labels_each_is_an_answer():
    found = outcome(
        [("a",), (), ("a", "z")],
        [[0.9, 0.6], [0.2, 0.7], [0.8, 0.4]],
        "multi_label",
    )
    np.testing.assert_allclose(
        found.confidences, [0.9, 0.6, 0.2, 0.7, 0.8, 0.4]
    )
    assert found.right.tolist() == [1, 0, 0, 0, 1, 0]


def test_of_numbers_there_are_values():
    found = outcome([1.0, 2.0, 3.0], [[1.5], [0.0], [3.0]], "regression")
    assert [m["where"] for m in found.mistakes] == ["line 1", "line 0"]
    assert found.confidences is None
    np.testing.assert_array_equal(found.values[0], [1, 2, 3])
    np.testing.assert_array_equal(found.values[1], [1.5, 0, 3])


def test_only_the_worst_are_quoted():
    found = outcome(["a"] * 40, [[0.0, 1.0]] * 40, "single_label")
    assert len(found.mistakes) == 12
