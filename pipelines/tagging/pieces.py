"""Sentences as the tokenizer cuts them: words and their sub-words.

Every word has at least one piece: a word that the tokenizer drops, such as a
lone zero-width character, becomes the unknown token.
"""

import dataclasses
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pipelines.training.inputs import RowWriter

_CHUNK = 1024


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The pieces of a sentence.

    Attributes:
        pieces: int array, the token id of each piece, without specials.
        words: int array like `pieces`, the word of each piece, increasing.
        offsets: int array (pieces, 2): code points of each piece in the
            text, or in its word where words were given; None where nobody
            asks for them.
    """

    pieces: np.ndarray
    words: np.ndarray
    offsets: np.ndarray | None = None

    @property
    def num_words(self) -> int:
        """How many words there are."""
        return int(self.words[-1]) + 1 if len(self.words) else 0

    @property
    def is_first(self) -> np.ndarray:
        """Bool array (pieces,): whether a piece is its word's first."""
        return np.diff(self.words, prepend=-1) > 0


class StoredPieces(Sequence):
    """Sentences without offsets, on disk where they are many.

    Args:
        sentences: any iterable of `Sentence`; it is read once.

    Attributes:
        lengths: int array, the pieces of each sentence.
    """

    def __init__(self, sentences: Iterable[Sentence]):
        pieces, words = RowWriter("int32"), RowWriter("int32")
        for sentence in sentences:
            pieces.append(sentence.pieces)
            words.append(sentence.words)
        self._pieces, self._words = pieces.rows(), words.rows()
        self.lengths = self._pieces.lengths

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        return Sentence(self._pieces[index], self._words[index])


def split_words(
    tokenizer, sentences: Iterable[Sequence[str]]
) -> Iterator[Sentence]:
    """Cuts given words into pieces.

    Args:
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        sentences: lists of words; they are read in chunks.

    Yields:
        A `Sentence` for each; a word that yields no piece has the unknown
        token.
    """
    sentences = iter(sentences)
    while chunk := [list(s) for s in itertools.islice(sentences, _CHUNK)]:
        encodings = tokenizer.encode(chunk)
        for words, encoding in zip(chunk, encodings, strict=True):
            yield _sentence(tokenizer, encoding, len(words))


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
        np.array(spans, "int64").reshape(-1, 2),
    )
