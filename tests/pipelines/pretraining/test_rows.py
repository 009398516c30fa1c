"""Sentences to rows: packing, cutting, pairs that are what they say."""

import itertools

import numpy as np
import pytest

from keras_encoder.tokenizer import Tokenizer
from pipelines.errors import InputError
from pipelines.pretraining.rows import sentence_pairs, single_texts
from pipelines.pretraining.sentence_rows import pack, tokenise_documents
from tests.pipelines.tiny import TOPICS, vocabulary

pytestmark = pytest.mark.backend_free

WORDS = sorted(word for words in TOPICS.values() for word in words)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_vocabulary(vocabulary())


def documents(count=12, sentences=7, seed=1):
    """Documents whose sentences are all different."""
    rng = np.random.default_rng(seed)
    return [
        [
            " ".join(rng.choice(WORDS, rng.integers(2, 6)))
            for _ in range(1 + sentences * (i % 3 > 0))
        ]
        for i in range(count)
    ]


def plain(tokenizer, ids):
    return tokenizer.backend.decode(list(ids), skip_special_tokens=False)


def test_sentences_keep_their_ids_documents_and_word_starts(tokenizer):
    found = tokenise_documents(
        tokenizer, [["hoof hxof", "sun"], [], ["pie"]], longest=9
    )
    assert found.ends.tolist() == [2, 2, 3]
    assert [*found.document(1)] == []
    assert [*found.document(2)] == [2]
    ids = tokenizer.encode(["hoof hxof"])[0].ids[1:-1]
    assert found.ids[0].tolist() == ids
    assert found.starts[0].tolist() == [True, True, False, False, False]


def test_a_long_sentence_is_cut_between_words_if_it_can_be(tokenizer):
    text = "hoof hxof sun abcdefghij"
    found = tokenise_documents(tokenizer, [[text]], longest=4)
    pieces = [found.ids[i].tolist() for i in range(len(found.ids))]
    assert sum(pieces, []) == tokenizer.encode([text])[0].ids[1:-1]
    assert [len(piece) for piece in pieces] == [1, 4, 1, 4, 4, 2]
    starts = [found.starts[i].tolist()[0] for i in range(len(pieces))]
    assert starts == [True, True, True, True, False, False]


def test_packs_are_whole_sentences_of_one_document_that_fit(tokenizer):
    sentences = tokenise_documents(tokenizer, documents(), longest=10)
    packs = pack(sentences, room=10)
    numbers = [n for _, first, end in packs for n in range(first, end)]
    assert numbers == [*range(len(sentences.ids))]
    for (index, first, end), (after, further, _) in itertools.pairwise(packs):
        assert {*range(first, end)} <= {*sentences.document(index)}
        length = sentences.ids.lengths[first:end].sum()
        assert length <= 10
        following = sentences.ids.lengths[further]
        assert after != index or length + following > 10


def test_single_texts_stand_between_the_special_tokens(tokenizer):
    text = [["hoof sun", "pie"], ["mango"]]
    sentences = tokenise_documents(tokenizer, text, longest=6)
    rows = single_texts(sentences, tokenizer, 8)(np.random.default_rng(0))
    assert rows.is_random is None
    ids = rows.inputs.columns["token_ids"]
    assert [plain(tokenizer, ids[i]) for i in range(2)] == [
        "[CLS] hoof sun pie [SEP]",
        "[CLS] mango [SEP]",
    ]
    assert rows.starts[0].tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("make", [single_texts, sentence_pairs])
def test_rows_on_disk_are_those_in_memory(tokenizer, monkeypatch, make):
    def batch():
        sentences = tokenise_documents(tokenizer, documents(), longest=8)
        rows = make(sentences, tokenizer, 19)(np.random.default_rng(3))
        every = np.arange(len(rows.inputs))
        starts = rows.starts.pad(every, 19, False)
        counts = sentences.counts(tokenizer.vocabulary_size)
        return {**rows.inputs.batch(every, 19), "s": starts, "n": counts}

    expected = batch()
    monkeypatch.setattr("pipelines.data.scratch._SMALL", 1)
    for name, value in batch().items():
        np.testing.assert_array_equal(value, expected[name], name)
    if make is single_texts:  # each sentence once, between special tokens
        ids = expected["token_ids"][expected["padding_mask"] == 1]
        counts = np.bincount(ids, minlength=len(expected["n"]))
        np.testing.assert_array_equal(counts[5:], expected["n"][5:])


def test_half_of_the_pairs_follow_each_other_and_no_random_one_does(tokenizer):
    texts = documents(count=30)
    sentences = tokenise_documents(tokenizer, texts, longest=8)
    draw = sentence_pairs(sentences, tokenizer, 19)
    whole = [" ".join(document) for document in texts]
    cuts, rows_seen = set(), []
    for seed in range(5):
        rows = draw(np.random.default_rng(seed))
        count = len(rows.is_random)
        assert rows.is_random.sum() == count // 2
        for row in range(count):
            ids = rows.inputs.columns["token_ids"][row]
            segments = rows.inputs.columns["segment_ids"][row]
            assert len(ids) == len(segments) == len(rows.starts[row]) <= 19
            text = plain(tokenizer, ids)
            first, second, rest = text[6:].split(" [SEP]")
            assert rest == ""
            assert text.startswith("[CLS] ")
            border = ids.tolist().index(tokenizer.backend.token_to_id("[SEP]"))
            assert segments.tolist() == [0] * (border + 1) + [1] * (
                len(ids) - border - 1
            )
            follows = any(first + second in document for document in whole)
            assert follows == (rows.is_random[row] == 0)
            cuts.add(border)
        rows_seen.append(rows.inputs.columns["token_ids"].values[:].tobytes())
    assert len(set(rows_seen)) == 5  # drawn anew
    assert len(cuts) > 5


def test_a_text_found_everywhere_never_counts_as_random(tokenizer):
    """Where all others begin like what follows, the pair follows."""
    texts = [["hoof", "sun"], ["sun"], ["sun"]]
    sentences = tokenise_documents(tokenizer, texts, longest=3)
    draw = sentence_pairs(sentences, tokenizer, 9)
    for seed in range(10):
        assert draw(np.random.default_rng(seed)).is_random.tolist() == [0]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([["hoof", "sun"]], "found 1 documents"),
        ([["hoof"], ["sun"]], "of one sentence each"),
    ],
)
def test_texts_without_pairs_are_refused(tokenizer, texts, found):
    sentences = tokenise_documents(tokenizer, texts, longest=3)
    with pytest.raises(InputError, match=f"--next-sentence.*{found}"):
        sentence_pairs(sentences, tokenizer, 9)
