"""What a report shows of a tagger's answers."""

import numpy as np
import pytest

from pipelines.data.examples import TaggedExample
from pipelines.tagging.outcome import tag_outcome

pytestmark = pytest.mark.backend_free


def test_each_word_is_an_answer():
    examples = [
        TaggedExample(("one", "two"), ("O", "B-PER"), "line 1"),
        TaggedExample((), (), "line 4"),
        TaggedExample(("three",), ("O",), "line 5"),
    ]
    results = [
        (["B-LOC", "B-PER"], np.array([0.8, 0.7])),
        ([], np.empty(0)),
        (["O"], np.array([0.9])),
    ]
    found = tag_outcome("validation", examples, results, "IOB2")
    np.testing.assert_array_equal(found.confidences, [0.8, 0.7, 0.9])
    assert found.right.tolist() == [False, True, True]
    assert [m["where"] for m in found.mistakes] == ["line 1"]
    assert found.part == "validation"


def test_no_sentence_is_no_fault():
    found = tag_outcome("test", [], [], "IOB2")
    assert len(found.confidences) == len(found.right) == 0
    assert found.mistakes == []
