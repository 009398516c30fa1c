"""Documents -> token ids of every sentence -> rows of a certain length."""

import array
import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from pipelines.console import Progress
from pipelines.data.documents import Document
from pipelines.training.inputs import Rows, RowWriter

# Lines that the tokenizer takes at once, and ids that are counted at once.
_CHUNK, _COUNTED = 1024, 1 << 22


@dataclasses.dataclass(frozen=True)
class SentenceRows:
    """The sentences of all documents, tokenised once.

    Attributes:
        ids: token ids of each sentence, without special tokens.
        starts: where in it a word begins (bool).
        ends: for each document, the number of the sentence after its last.
    """

    ids: Rows
    starts: Rows
    ends: np.ndarray

    def document(self, index: int) -> range:
        """The numbers of a document's sentences."""
        return range(self.ends[index - 1] if index else 0, self.ends[index])

    def counts(self, size: int) -> np.ndarray:
        """How often each token comes: int array (size,)."""
        values, counts = self.ids.values, np.zeros(size, "int64")
        for start in range(0, len(values), _COUNTED):
            some = values[start : start + _COUNTED]
            counts += np.bincount(some, minlength=size)
        return counts

    def join(self, numbers) -> tuple[np.ndarray, np.ndarray]:
        """Ids and word starts of some sentences, one after the other."""
        return (
            np.concatenate([self.ids[number] for number in numbers]),
            np.concatenate([self.starts[number] for number in numbers]),
        )


def tokenise_documents(
    tokenizer, documents: Sequence[Document], longest: int
) -> SentenceRows:
    """Tokenises the lines of documents.

    Args:
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        documents: lists of lines; each line is a sentence.
        longest: a longer sentence is cut into several, between words if
            there is a word's end in reach.
    """
    lines = ((i, line) for i, d in enumerate(documents) for line in d)
    ids, starts = RowWriter("int32"), RowWriter("bool")
    counts, done = np.zeros(len(documents), "int64"), 0
    with Progress("tokenise", len(documents)) as progress:
        while chunk := list(itertools.islice(lines, _CHUNK)):
            owners, texts = zip(*chunk, strict=True)
            encodings = tokenizer.encode(list(texts))
            for owner, encoding in zip(owners, encodings, strict=True):
                for some, begins in _cut(*_without_special(encoding), longest):
                    ids.append(some)
                    starts.append(begins)
                    counts[owner] += 1
            progress.add(owners[-1] - done)
            done = owners[-1]
    return SentenceRows(ids.rows(), starts.rows(), np.cumsum(counts))


def pack(sentences: SentenceRows, room: int, least: int = 1) -> np.ndarray:
    """Puts neighbouring sentences of a document together while they fit.

    Args:
        sentences: none longer than `room`, so that every one finds a place.
        room: tokens that fit.
        least: packs of fewer sentences are left out.

    Returns:
        int array (packs, 3): the number of the document, that of the first
        sentence and that after the last.
    """
    packs, lengths = array.array("q"), sentences.ids.lengths
    for index in range(len(sentences.ends)):
        first, used = None, 0
        numbers = sentences.document(index)
        for number in numbers:
            if first is None or used + lengths[number] > room:
                if first is not None:
                    packs.extend((index, first, number))
                first, used = number, 0
            used += lengths[number]
        if first is not None:
            packs.extend((index, first, numbers.stop))
    packs = np.array(packs, "int64").reshape(-1, 3)
    return packs[packs[:, 2] - packs[:, 1] >= least]


def _without_special(encoding):
    words = [word for word in encoding.word_ids if word is not None]
    ids = [
        token
        for token, word in zip(encoding.ids, encoding.word_ids, strict=True)
        if word is not None
    ]
    words = np.array(words, "int32")
    return np.array(ids, "int32"), np.diff(words, prepend=-1) != 0


def _cut(ids, starts, longest):
    """Pieces of at most `longest` tokens; none of an empty sentence."""
    while len(ids) > longest:
        places = np.flatnonzero(starts[1 : longest + 1])
        cut = places[-1] + 1 if len(places) else longest
        yield ids[:cut], starts[:cut]
        ids, starts = ids[cut:], starts[cut:]
    if len(ids):
        yield ids, starts
