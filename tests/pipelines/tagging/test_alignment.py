"""Every word one label, every piece in one window, whatever the words."""

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from keras_encoder.tokenizer import Tokenizer
from pipelines.tagging.alignment import gather, make_windows, token_rows
from pipelines.tagging.pieces import StoredPieces, split_text, split_words
from pipelines.training.batching import choose_lengths
from tests.pipelines.tiny import vocabulary

pytestmark = pytest.mark.backend_free

TOKENIZER = Tokenizer.from_vocabulary(vocabulary())
# One piece, several, none (zero-width, soft hyphen, blank), over the limit of
# 100 characters, more pieces than a window has room for, unknown, and what
# looks like a separator.
WORDS = st.sampled_from(
    [
        "the",
        "abc",
        "zqx.",
        "\u200b",
        "\xad",
        " ",
        "",
        "x" * 120,
        "abcdefghij" * 4,
        "🙂",
        "日本語",
        "a b",
        "[SEP]",
        "e\u0301",
    ]
)
SENTENCES = st.lists(st.lists(WORDS, max_size=30), max_size=4)
GIVEN = hypothesis.settings(max_examples=30, deadline=None)


def split(sentences):
    return list(split_words(TOKENIZER, sentences))


def windows_of(sentences, max_length=12, stride=None, documents=None):
    return make_windows(
        TOKENIZER, split(sentences), max_length, stride, documents
    )


def ids_of(windows):
    """Token ids of each window."""
    ids = windows.inputs.columns["token_ids"]
    return [ids[i] for i in range(len(ids))]


def places_of(windows):
    """(positions that count, the pieces that they are) of each window."""
    firsts = np.cumsum(windows.counts) - windows.counts
    return [
        (start + np.arange(count), first + np.arange(count))
        for start, count, first in zip(
            windows.starts, windows.counts, firsts, strict=True
        )
    ]


def texts_of(windows):
    """Tokens of each window, without [CLS] and [SEP]."""
    return [
        [TOKENIZER.backend.id_to_token(int(i)) for i in ids[1:-1]]
        for ids in ids_of(windows)
    ]


@hypothesis.given(SENTENCES)
@GIVEN
def test_every_word_has_a_piece(sentences):
    for words, sentence in zip(sentences, split(sentences), strict=True):
        assert sentence.num_words == len(words)
        assert sorted(set(sentence.words.tolist())) == list(range(len(words)))
        assert (np.diff(sentence.words) >= 0).all()
        assert sentence.offsets.shape == (len(sentence.pieces), 2)


@hypothesis.given(SENTENCES)
@GIVEN
def test_words_keep_their_own_pieces(sentences):
    """Whatever stands before a word, its pieces are those it has alone."""
    for words, sentence in zip(sentences, split(sentences), strict=True):
        for number, word in enumerate(words):
            alone = split([[word]])[0].pieces
            found = sentence.pieces[sentence.words == number]
            assert found.tolist() == alone.tolist()


def test_a_word_that_the_tokenizer_drops_is_the_unknown_token():
    sentence = split([["\u200b", "the", ""]])[0]
    unknown = TOKENIZER.unk_id
    the = TOKENIZER.backend.token_to_id("the")
    assert sentence.pieces.tolist() == [unknown, the, unknown]


@hypothesis.given(
    SENTENCES, st.integers(3, 14), st.none() | st.integers(0, 11), st.booleans()
)
@GIVEN
def test_every_piece_counts_in_one_window(
    sentences, max_length, stride, context
):
    hypothesis.assume(stride is None or stride < max_length - 2)
    documents = [0] * len(sentences) if context else None
    windows = windows_of(sentences, max_length, stride, documents)
    pieces = np.concatenate(
        [np.zeros(0, int), *(s.pieces for s in split(sentences))]
    )
    assert windows.counts.sum() == len(pieces)
    assert windows.by_sentence.sum() == len(windows.counts)
    for ids, (positions, some) in zip(
        ids_of(windows), places_of(windows), strict=True
    ):
        assert len(ids) <= max_length
        assert ids[positions].tolist() == pieces[some].tolist()
        assert [ids[0], ids[-1]] == [2, 3]
        assert not {0, len(ids) - 1} & set(positions.tolist())


@hypothesis.given(
    st.integers(1, 60), st.integers(3, 14), st.none() | st.integers(0, 11)
)
@GIVEN
def test_every_word_is_read_where_it_has_most_context(
    count, max_length, stride
):
    hypothesis.assume(stride is None or stride < max_length - 2)
    windows = windows_of([["the"] * count], max_length, stride)
    spans = []
    for ids, (positions, pieces) in zip(
        ids_of(windows), places_of(windows), strict=True
    ):
        start = pieces[0] - positions[0] + 1 if len(pieces) else None
        spans.append((start, len(ids) - 2))
    for (start, length), (_, pieces) in zip(
        spans, places_of(windows), strict=True
    ):
        for piece in pieces:
            own = margin(piece, start, length, count)
            for other, size in spans:
                if other is not None and other <= piece < other + size:
                    assert own >= margin(piece, other, size, count)


def margin(piece, start, length, total):
    """Pieces to the nearer end of a window that is a cut."""
    end = start + length
    left = piece - start if start else np.inf
    right = end - piece if end < total else np.inf
    return min(left, right)


def test_windows_of_a_cut_sentence_start_at_a_word():
    words = ["ab", "cde", "f", "gh", "ijk", "l"] * 8
    windows = windows_of([words], max_length=12)
    assert len(windows.inputs) > 3
    for tokens in texts_of(windows):
        assert not tokens[0].startswith("##")


def test_no_sentences_and_no_words():
    assert len(windows_of([]).inputs) == 0
    assert list(gather(windows_of([]), [])) == []
    assert windows_of([[], ["the"], []]).counts.tolist() == [0, 1, 0]


def test_no_window_is_padded_beyond_what_the_model_reads():
    windows = windows_of([["the"] * 100], max_length=13)
    shapes = choose_lengths(
        windows.inputs.lengths, longest=windows.inputs.longest
    )
    assert max(shapes) == 13


@hypothesis.given(SENTENCES, st.integers(3, 14))
@GIVEN
def test_outputs_come_back_to_their_pieces(sentences, max_length):
    windows = windows_of(sentences, max_length)
    outputs = [
        np.pad(ids[:, None].astype("float32"), [(0, 3), (0, 0)])
        for ids in ids_of(windows)
    ]
    found = list(gather(windows, outputs))
    for sentence, values in zip(split(sentences), found, strict=True):
        assert values[:, 0].tolist() == sentence.pieces.tolist()


@hypothesis.given(SENTENCES, st.integers(3, 14), st.booleans())
@GIVEN
def test_values_stand_on_first_pieces_and_nowhere_else(
    sentences, max_length, context
):
    documents = [0] * len(sentences) if context else None
    windows = windows_of(sentences, max_length, documents=documents)
    ends = np.cumsum([0, *map(len, sentences)])
    values = [np.arange(a, b) + 1 for a, b in itertools.pairwise(ends)]
    pieces = StoredPieces(split(sentences))
    rows = token_rows(windows, pieces, values, "int32")
    everything = rows.values[:]
    assert sorted(everything[everything > 0]) == list(range(1, ends[-1] + 1))
    found = gather(windows, [rows[i][:, None] for i in range(len(rows))])
    for sentence, own, some in zip(pieces, values, found, strict=True):
        assert some[sentence.is_first, 0].tolist() == own.tolist()
        assert not some[~sentence.is_first].any()


def test_context_never_crosses_a_document():
    """The words of a document are letters that no other document has."""
    sentences = [list("ab"), list("cd"), [], list("mn"), list("op"), list("yz")]
    documents = [0, 0, 0, 1, 1, 2]
    own = [set("abcd"), set("mnop"), set("yz")]
    windows = windows_of(sentences, 20, documents=documents)
    for tokens, document in zip(texts_of(windows), documents, strict=True):
        assert set(tokens) == own[document]


def test_context_is_what_stands_beside_the_sentence():
    sentences = [list("abcd"), list("ef"), list("ghij")]
    windows = windows_of(sentences, 8, documents=[0, 0, 0])
    assert texts_of(windows) == [
        list("abcdef"),
        list("cdefgh"),
        list("efghij"),
    ]
    assert windows.starts.tolist() == [1, 3, 3]
    assert windows.counts.tolist() == [4, 2, 4]


def test_sentences_of_no_words_stand_in_no_way():
    sentences = [list("ab"), *[[]] * 3000, list("cd")]
    windows = windows_of(sentences, 8, documents=[0] * 3002)
    assert texts_of(windows)[0] == texts_of(windows)[7] == list("abcd")


def test_one_side_takes_the_room_that_the_other_leaves():
    sentences = [list("abcdef"), list("g"), list("h")]
    windows = windows_of(sentences, 8, documents=[0, 0, 0])
    assert texts_of(windows)[1] == list("cdefgh")


def test_context_of_a_cut_sentence_stands_at_its_ends():
    sentences = [list("abc"), list("zebra" * 4), list("xyz")]
    windows = windows_of(sentences, 12, stride=3, documents=[0, 0, 0])
    joined = "".join(sentences[1])
    for tokens in texts_of(windows)[1:-1]:
        inner = "".join(tokens).removeprefix("abc").removesuffix("xyz")
        assert inner.rstrip("xyz") in joined
    assert "".join(texts_of(windows)[-2]).endswith("raxyz")


TEXTS = {
    "🙂🙂 the zoo": ["🙂🙂", "the", "zoo"],
    "e\u0301ab the\u0301": ["e\u0301ab", "the\u0301"],
    "z\xadoo ok": ["z\xadoo", "ok"],
    "a\u200bb c": ["a\u200bb", "c"],
    "日本 a語": ["日", "本", "a", "語"],
    "Don't, A.B!": ["Don", "'", "t", ",", "A", ".", "B", "!"],
    "press [SEP] now": ["press", "[", "SEP", "]", "now"],
    "": [],
    " \t\u200b\n ": [],
}


@pytest.mark.parametrize("text", TEXTS)
def test_offsets_slice_the_original_text(text):
    sentence = split_text(TOKENIZER, [text])[0]
    words = [
        text[
            sentence.offsets[sentence.words == i][0, 0] : sentence.offsets[
                sentence.words == i
            ][-1, 1]
        ]
        for i in range(sentence.num_words)
    ]
    assert words == TEXTS[text]


@hypothesis.given(st.text(max_size=30))
@GIVEN
def test_offsets_lie_in_the_text_in_order(text):
    sentence = split_text(TOKENIZER, [text])[0]
    starts, ends = sentence.offsets.T
    assert (starts < ends).all()
    assert (ends <= len(text)).all()
    assert (np.diff(starts) >= 0).all()
    assert sorted(set(sentence.words.tolist())) == list(
        range(sentence.num_words)
    )


def test_stored_pieces_are_like_a_list():
    words = [["the", "zqx."], [], ["\u200b"]]
    stored, expected = StoredPieces(split(words)), split(words)
    assert stored.lengths.tolist() == [len(s.pieces) for s in expected]
    for one, other in zip(
        (*stored, *stored[1:]), (*expected, *expected[1:]), strict=True
    ):
        assert one.pieces.tolist() == other.pieces.tolist()
        assert one.words.tolist() == other.words.tolist()
    with pytest.raises(IndexError):
        stored[3]


def test_no_texts():
    assert split_text(TOKENIZER, []) == []
