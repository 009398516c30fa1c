"""Words -> sub-words -> windows, and from windows back to words.

Alignment goes by word ids, never by counting. Every word has at least one
piece (a word that the tokenizer drops, such as a lone zero-width character,
becomes the unknown token), and each piece is read in exactly one window: the
one that shows most of what stands around its word. So every word gets one
label, however long its sentence is.
"""

import dataclasses
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from pipelines.training.inputs import Inputs, Rows

_CHUNK = 1024


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The pieces of a sentence.

    Attributes:
        pieces: int array, the token id of each piece, without specials.
        words: int array like `pieces`, the word of each piece, increasing.
        num_words: how many words there are.
        offsets: int array (pieces, 2): code points of each piece in the
            text, or in its word where words were given.
    """

    pieces: np.ndarray
    words: np.ndarray
    num_words: int
    offsets: np.ndarray


@dataclasses.dataclass(frozen=True)
class Windows:
    """What a tagger reads, and where its answers belong.

    Attributes:
        inputs: `Inputs` with `token_ids`, a row a window.
        places: for each window the positions whose output counts.
        targets: for each window the number of the piece (over all sentences)
            at each of these positions.
        num_pieces: pieces of all sentences together.
        is_first: bool (num_pieces,): whether a piece is its word's first.
    """

    inputs: Inputs
    places: list[np.ndarray]
    targets: list[np.ndarray]
    num_pieces: int
    is_first: np.ndarray


def split_words(tokenizer, sentences: Sequence[Sequence[str]]) -> list:
    """Cuts given words into pieces.

    Args:
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        sentences: lists of words.

    Returns:
        A `Sentence` for each; a word that yields no piece has the unknown
        token.
    """
    result = []
    for start in range(0, len(sentences), _CHUNK):
        chunk = [list(words) for words in sentences[start : start + _CHUNK]]
        encodings = tokenizer.encode(chunk)
        for words, encoding in zip(chunk, encodings, strict=True):
            result.append(_sentence(tokenizer, encoding, len(words)))
    return result


def split_text(tokenizer, texts: Sequence[str]) -> list[Sentence]:
    """Cuts texts into words and pieces as the tokenizer does.

    These are the words of transformers' pipeline, with offsets into the
    text; but an accent that the tokenizer strips from the end of a word
    belongs to the word.
    """
    result = []
    encodings = tokenizer.encode(list(texts)) if texts else []
    for text, encoding in zip(texts, encodings, strict=True):
        words = [word for word in encoding.word_ids if word is not None]
        num_words = words[-1] + 1 if words else 0
        sentence = _sentence(tokenizer, encoding, num_words)
        for span in sentence.offsets:
            while unicodedata.combining(text[span[1] : span[1] + 1] or " "):
                span[1] += 1
        result.append(sentence)
    return result


def make_windows(
    tokenizer,
    sentences: Sequence[Sentence],
    max_length: int,
    stride: int | None = None,
    documents: Sequence[int] | None = None,
) -> Windows:
    """Puts sentences into windows of at most `max_length` tokens.

    Args:
        tokenizer: `Tokenizer`, for the special tokens.
        sentences: from `split_words` or `split_text`.
        max_length: tokens of a window, [CLS] and [SEP] included.
        stride: pieces that neighbouring windows of a long sentence share;
            None for a quarter of a window.
        documents: None, or the document of each sentence: then the room that
            a sentence leaves in its window is filled with its neighbours in
            the document (FLERT, https://arxiv.org/abs/2011.06993).
    """
    room = max_length - 2
    stride = room // 4 if stride is None else stride
    token_ids, places, targets = [], [], []
    first_piece = np.cumsum([0, *(len(s.pieces) for s in sentences)])
    cls = tokenizer.backend.token_to_id(tokenizer.special_tokens["cls_token"])
    sep = tokenizer.backend.token_to_id(tokenizer.special_tokens["sep_token"])
    for i, sentence in enumerate(sentences):
        for start, end, kept in _spans(sentence.words, room, stride):
            before = after = ()
            if documents is not None:
                space = room - (end - start)
                # Inside a sentence that is cut, its own words stand beside.
                before, after = _context(
                    _neighbours(sentences, documents, i, -1, space)
                    if start == 0
                    else [],
                    _neighbours(sentences, documents, i, 1, space)
                    if end == len(sentence.pieces)
                    else [],
                    space,
                )
            ids = [cls, *before, *sentence.pieces[start:end], *after, sep]
            token_ids.append(np.array(ids, "int32"))
            places.append(1 + len(before) + kept - start)
            targets.append(first_piece[i] + kept)
    return Windows(
        inputs=Inputs(
            {"token_ids": Rows.join(token_ids, "int32")},
            {"token_ids": tokenizer.pad_id},
            longest=max_length,
        ),
        places=places,
        targets=targets,
        num_pieces=int(first_piece[-1]),
        is_first=np.concatenate(
            [np.zeros(0, bool), *(_is_first(s.words) for s in sentences)]
        ),
    )


def gather(windows: Windows, outputs: Iterable, width: int) -> np.ndarray:
    """Brings the outputs of windows back to the pieces.

    Args:
        windows: from `make_windows`.
        outputs: (window numbers, outputs (windows, tokens, width)) pairs, as
            `predict_rows` yields them.
        width: size of the last axis.

    Returns:
        Array (num_pieces, width).
    """
    gathered = np.full((windows.num_pieces, width), np.nan, "float32")
    for numbers, some in outputs:
        for number, output in zip(numbers, some, strict=True):
            gathered[windows.targets[number]] = output[windows.places[number]]
    return gathered


def token_rows(windows: Windows, values: np.ndarray, dtype: str) -> Rows:
    """A value for each token of each window: of its word, or 0.

    Args:
        windows: from `make_windows`.
        values: (words of all sentences,): goes to the first piece of a word
            in the window where the word counts.
        dtype: of the result.
    """
    by_piece = np.zeros(windows.num_pieces, dtype)
    by_piece[windows.is_first] = values
    ids = windows.inputs.columns["token_ids"]
    rows = Rows(np.zeros(len(ids.values), dtype), ids.lengths)
    for number, (places, pieces) in enumerate(
        zip(windows.places, windows.targets, strict=True)
    ):
        rows[number][places] = by_piece[pieces]
    return rows


def _sentence(tokenizer, encoding, num_words):
    ids, words, spans, expected = [], [], [], 0
    for piece, word, span in zip(
        encoding.ids, encoding.word_ids, encoding.offsets, strict=True
    ):
        if word is None:
            continue
        while expected < word:  # words that the tokenizer dropped
            ids.append(tokenizer.unk_id)
            words.append(expected)
            spans.append((0, 0))
            expected += 1
        ids.append(piece)
        words.append(word)
        spans.append(span)
        expected = word + 1
    for word in range(expected, num_words):
        ids.append(tokenizer.unk_id)
        words.append(word)
        spans.append((0, 0))
    return Sentence(
        np.array(ids, "int32"),
        np.array(words, "int64"),
        num_words,
        np.array(spans, "int64").reshape(-1, 2),
    )


def _is_first(words):
    return np.diff(words, prepend=-1) > 0


def _spans(words, room, stride):
    """Yields (start, end, pieces that count) for each window of a sentence.

    Windows start at a word. A piece counts where the smaller of its distances
    to the window's ends is largest; an end of the sentence is no cut.
    """
    total = len(words)
    if total <= room:
        yield 0, total, np.arange(total)
        return
    starts, start = [], 0
    while True:
        starts.append(start)
        if start + room >= total:
            break
        # Back to the start of the word, but always onwards.
        following = start + max(1, room - stride)
        word_start = int(np.searchsorted(words, words[following]))
        start = word_start if word_start > start else following
    ends = [min(start + room, total) for start in starts]
    best, chosen = np.full(total, -np.inf), np.zeros(total, int)
    # All pieces of a word go where its first piece has most context.
    first = np.searchsorted(words, words)
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        left = np.inf if start == 0 else first[start:end] - start
        right = np.inf if end == total else end - first[start:end]
        margin = np.minimum(left, right)
        better = start + np.flatnonzero(margin > best[start:end])
        best[better] = margin[better - start]
        chosen[better] = number
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        yield start, end, start + np.flatnonzero(chosen[start:end] == number)


def _neighbours(sentences, documents, index, step, space):
    """At least `space` pieces beside a sentence, if its document has them."""
    pieces, other = [], index + step
    while (
        0 <= other < len(sentences)
        and documents[other] == documents[index]
        and len(pieces) < space
    ):
        some = list(sentences[other].pieces)
        pieces = some + pieces if step < 0 else pieces + some
        other += step
    return pieces


def _context(before, after, space):
    """The nearest pieces of both sides; one takes what the other leaves."""
    right = min(len(after), max(space // 2, space - len(before)))
    left = min(len(before), space - right)
    return before[len(before) - left :], after[:right]
