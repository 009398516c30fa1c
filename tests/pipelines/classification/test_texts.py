"""Texts and pairs -> token ids in rows."""

import numpy as np
import pytest

from keras_encoder.tokenizer import Tokenizer
from pipelines.classification.texts import tokenise
from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from tests.pipelines.tiny import vocabulary

pytestmark = pytest.mark.backend_free


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_vocabulary(vocabulary())


def ids(*tokens):
    return [vocabulary().index(token) for token in tokens]


def test_texts_become_rows_of_ids(tokenizer):
    examples = [TextExample("Zoo of"), TextExample("")]
    inputs, counts = tokenise(tokenizer, examples, 8)
    found = inputs.columns["token_ids"]
    assert found[0].tolist() == ids("[CLS]", "zoo", "of", "[SEP]")
    assert found[1].tolist() == ids("[CLS]", "[SEP]")
    assert set(inputs.columns) == {"token_ids"}
    assert counts.lengths.tolist() == [4, 2]


def test_pairs_have_segments(tokenizer):
    inputs, _ = tokenise(tokenizer, [TextExample("zoo", "of far")], 8)
    assert inputs.columns["segment_ids"][0].tolist() == [0, 0, 0, 1, 1, 1]


def test_a_single_text_among_pairs_has_segment_zero(tokenizer):
    examples = [TextExample("zoo", "of"), TextExample("zoo of")]
    inputs, _ = tokenise(tokenizer, examples, 8)
    assert inputs.columns["segment_ids"][1].tolist() == [0] * 4


def test_texts_that_are_cut_are_counted(tokenizer):
    examples = [TextExample("zoo " * 9), TextExample("zoo zoo zoo")]
    inputs, counts = tokenise(tokenizer, examples, 5)
    assert counts.lengths.tolist() == [11, 5]
    assert inputs.lengths.tolist() == [5, 5]
    assert inputs.columns["token_ids"][0][-1] == ids("[SEP]")[0]


def test_padding_is_the_tokenizers_own(tokenizer):
    turned = Tokenizer.from_vocabulary(vocabulary()[::-1])
    inputs, _ = tokenise(turned, [TextExample("zoo"), TextExample("")], 8)
    batch = inputs.batch(np.array([1]), 4)
    assert batch["token_ids"][0, -1] == turned.pad_id != 0


def test_many_texts_keep_their_order(tokenizer):
    words = [w for w in vocabulary() if len(w) > 3 and w.isalpha()]
    examples = [TextExample(words[i % len(words)]) for i in range(2500)]
    inputs, _ = tokenise(tokenizer, examples, 8)
    for row in range(0, 2500, 333):
        token = inputs.columns["token_ids"][row][1]
        assert vocabulary()[token] == examples[row].text


def test_no_texts_are_no_rows(tokenizer):
    inputs, counts = tokenise(tokenizer, [], 8)
    assert len(inputs) == len(counts.lengths) == 0


def test_a_pair_needs_room_for_both(tokenizer):
    pairs = [TextExample("zoo", "of")]
    assert tokenise(tokenizer, pairs, 5)[0].lengths.tolist() == [5]
    with pytest.raises(InputError, match="--max-length.*5 or more"):
        tokenise(tokenizer, pairs, 4)


def test_tokens_are_counted_as_if_nothing_were_cut(tokenizer):
    """Cut texts in several pieces, cut pairs, unknown tokens."""
    examples = [
        TextExample("zoo " * 9 + "\u4e00"),
        TextExample("zoo \u4e00 \u4e8c"),
        TextExample("\u4e00"),
        TextExample(""),
    ]
    _, counts = tokenise(tokenizer, examples, 5)
    assert counts.lengths.tolist() == [12, 5, 3, 2]
    assert (counts.special, counts.read, counts.unknown) == (2, 7, 3)
    pairs = [TextExample("zoo " * 9, "of " * 7), TextExample("zoo " * 9)]
    _, counts = tokenise(tokenizer, pairs, 8)
    assert counts.lengths.tolist() == [19, 11]


def test_a_huge_text_is_one_row_and_many_are_cut_into_chunks(
    tokenizer, monkeypatch
):
    monkeypatch.setattr("pipelines.classification.texts._CHARACTERS", 1000)
    examples = [TextExample("zoo " * (i % 7 * 100)) for i in range(50)]
    inputs, counts = tokenise(tokenizer, examples, 8)
    assert len(inputs) == 50
    assert counts.lengths.tolist() == [2 + i % 7 * 100 for i in range(50)]


def test_more_tokens_than_stay_in_memory_are_read_back(tokenizer, monkeypatch):
    examples = [TextExample("zoo " * (i % 5)) for i in range(300)]
    expected, _ = tokenise(tokenizer, examples, 8)
    monkeypatch.setattr("pipelines.data.scratch._SMALL", 100)
    found, _ = tokenise(tokenizer, examples, 8)
    rows = np.arange(299, -1, -7)
    for name, value in expected.batch(rows, 8).items():
        np.testing.assert_array_equal(found.batch(rows, 8)[name], value)
