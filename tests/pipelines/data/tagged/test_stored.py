"""Sentences on disk are like those of a list, and cost 32 bytes each."""

import numpy as np
import pytest

from pipelines.data.examples import TaggedExample
from pipelines.data.tagged.stored import StoredSentences

pytestmark = pytest.mark.backend_free

EXAMPLES = [
    TaggedExample(("a", "é\0\u2028"), ("O", "B-X"), "f:1", 0, id=7),
    TaggedExample((), (), "f:4", 0),
    TaggedExample(("b",), None, "f:5", 3, " b", ((1, 2),), "id"),
    TaggedExample(("b",), ("O",), "f:6", 4),
]


@pytest.fixture(params=["memory", "disk"], autouse=True)
def place(request, monkeypatch):
    if request.param == "disk":
        monkeypatch.setattr("pipelines.data.scratch._SMALL", 1)


def test_stored_sentences_are_like_a_list():
    stored = StoredSentences(iter(EXAMPLES))
    assert len(stored) == 4
    assert list(stored) == EXAMPLES
    assert stored == EXAMPLES
    assert stored != EXAMPLES[:3]
    assert stored[-1] == EXAMPLES[-1]
    assert stored[::-1] == EXAMPLES[::-1]
    assert not StoredSentences()
    with pytest.raises(IndexError):
        stored[4]


def test_a_part_keeps_documents_and_hashes():
    stored = StoredSentences(EXAMPLES)
    part = stored.take(np.array([3, 2, 0]))
    assert part == [EXAMPLES[i] for i in (3, 2, 0)]
    assert part.take(np.array([2])) == EXAMPLES[:1]
    assert part.documents.tolist() == [4, 3, 0]
    assert part.hashes[0] == part.hashes[1] != part.hashes[2]


def test_alone_each_sentence_is_a_document():
    stored = StoredSentences(EXAMPLES)
    assert [e.document for e in stored.each_alone()] == [0, 1, 2, 3]
    assert stored == EXAMPLES


def test_what_is_written_once_is_one_object():
    """However many words of a tag, its string is in memory once."""
    tag = "".join(["B-", "X"])
    stored = StoredSentences([TaggedExample(("a",), (tag,)) for _ in range(2)])
    assert stored[0].tags[0] is stored[1].tags[0]
