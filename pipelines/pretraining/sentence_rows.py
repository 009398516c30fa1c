"""Documents -> token ids of every sentence -> rows of a certain length."""

import dataclasses

import numpy as np

from pipelines.console import Progress
from pipelines.data.documents import Document
from pipelines.training.inputs import Rows

_CHUNK = 1024


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

    def join(self, numbers) -> tuple[np.ndarray, np.ndarray]:
        """Ids and word starts of some sentences, one after the other."""
        return (
            np.concatenate([self.ids[number] for number in numbers]),
            np.concatenate([self.starts[number] for number in numbers]),
        )


def tokenise_documents(
    tokenizer, documents: list[Document], longest: int
) -> SentenceRows:
    """Tokenises the lines of documents.

    Args:
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        documents: lists of lines; each line is a sentence.
        longest: a longer sentence is cut into several, between words if
            there is a word's end in reach.
    """
    lines = [line for document in documents for line in document]
    owners = np.repeat(np.arange(len(documents)), [len(d) for d in documents])
    ids, starts, counts = [], [], np.zeros(len(documents), "int64")
    with Progress("tokenise", len(lines)) as progress:
        for first in range(0, len(lines), _CHUNK):
            chunk = lines[first : first + _CHUNK]
            for number, encoding in enumerate(tokenizer.encode(chunk), first):
                for some, begins in _cut(*_without_special(encoding), longest):
                    ids.append(some)
                    starts.append(begins)
                    counts[owners[number]] += 1
            progress.add(len(chunk))
    return SentenceRows(
        Rows.join(ids, "int32"), Rows.join(starts, "bool"), np.cumsum(counts)
    )


def pack(
    sentences: SentenceRows, room: int, least: int = 1
) -> list[tuple[int, range]]:
    """Puts neighbouring sentences of a document together while they fit.

    Args:
        sentences: none longer than `room`, so that every one finds a place.
        room: tokens that fit.
        least: packs of fewer sentences are left out.

    Returns:
        (number of the document, numbers of the sentences) of each pack.
    """
    packs, lengths = [], sentences.ids.lengths
    for index in range(len(sentences.ends)):
        first, used = None, 0
        numbers = sentences.document(index)
        for number in numbers:
            if first is None or used + lengths[number] > room:
                if first is not None:
                    packs.append((index, range(first, number)))
                first, used = number, 0
            used += lengths[number]
        if first is not None:
            packs.append((index, range(first, numbers.stop)))
    return [pack for pack in packs if len(pack[1]) >= least]


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
