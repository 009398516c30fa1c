import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TaggedExample
from pipelines.data.tagged.splits import split_documents
from pipelines.errors import InputError


def sentences(*documents):
    return [
        TaggedExample((str(i),), ("O",), f"f:{i}", document)
        for i, document in enumerate(documents)
    ]


@hypothesis.given(
    st.lists(st.integers(1, 4), min_size=10, max_size=40), st.integers(0, 99)
)
@hypothesis.settings(max_examples=50, deadline=None)
def test_documents_stay_whole_and_nothing_is_lost(sizes, seed):
    documents = [d for d, size in enumerate(sizes) for _ in range(size)]
    examples = sentences(*documents)
    parts = split_documents(examples, (0.1, 0.1), seed)
    assert sorted(e.where for part in parts for e in part) == sorted(
        e.where for e in examples
    )
    seen = [{e.document for e in part} for part in parts]
    assert all(seen)
    assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])
    assert len(seen[1]) == len(seen[2]) == max(1, round(len(sizes) / 10))


def test_the_seed_decides():
    examples = sentences(*range(50))
    first = split_documents(examples, (0.1,), 1)
    assert first == split_documents(examples, (0.1,), 1)
    assert first != split_documents(examples, (0.1,), 2)


def test_order_is_kept():
    for part in split_documents(sentences(*range(50)), (0.2, 0.2), 3):
        assert [e.document for e in part] == sorted(e.document for e in part)


def test_one_document_is_split_by_sentence_without_neighbours():
    parts = split_documents(sentences(*[0] * 20), (0.1, 0.1), 42)
    assert [len(part) for part in parts] == [16, 2, 2]
    documents = [e.document for part in parts for e in part]
    assert len(set(documents)) == 20


def test_too_few_sentences():
    with pytest.raises(InputError, match="f:0: expected at least 3 sentences"):
        split_documents(sentences(0, 0), (0.1, 0.1), 42)


def test_negative_seed():
    with pytest.raises(InputError, match="seed: expected 0 or more, found -1"):
        split_documents(sentences(*range(20)), (0.1,), -1)
