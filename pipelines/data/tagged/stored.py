"""Tagged sentences on disk: a sequence like a list that fits any amount."""

import array
import sys
from collections.abc import Iterable, Sequence

import numpy as np

from pipelines.data.examples import TaggedExample
from pipelines.data.scratch import ScratchRecords


class StoredSentences(Sequence):
    """Tagged sentences in a temporary file, read back one at a time.

    In memory there are 32 bytes a sentence: where it stands, its document and
    a hash of its words.

    Args:
        examples: any iterable; it is read once.

    Attributes:
        documents: int64 array, the document of each sentence.
        hashes: int64 array, equal for sentences of equal words; comparable
            within one process.
    """

    def __init__(self, examples: Iterable[TaggedExample] = ()):
        self._records = ScratchRecords()
        documents, hashes = array.array("q"), array.array("q")
        for e in examples:
            # An interned string is one object when it is read back, too.
            tags = None if e.tags is None else tuple(map(_intern, e.tags))
            tokens = tuple(map(str, e.tokens))
            record = (tokens, tags, e.where, e.text, e.offsets, e.id)
            self._records.append(record)
            documents.append(e.document)
            hashes.append(hash(e.tokens))
        self.documents = np.array(documents, "int64")
        self.hashes = np.array(hashes, "int64")

    def take(self, rows: np.ndarray) -> "StoredSentences":
        """The sentences of some rows, in the same file."""
        part = object.__new__(StoredSentences)
        part._records = self._records.take(rows)
        part.documents, part.hashes = self.documents[rows], self.hashes[rows]
        return part

    def each_alone(self) -> "StoredSentences":
        """The same sentences, each a document of its own."""
        alone = self.take(np.arange(len(self)))
        alone.documents = np.arange(len(self))
        return alone

    def __len__(self):
        return len(self.documents)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        tokens, tags, where, text, offsets, identifier = self._records[index]
        return TaggedExample(
            tokens,
            tags,
            where,
            int(self.documents[index]),
            text,
            offsets,
            identifier,
        )

    def __eq__(self, other):
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(
            one == another for one, another in zip(self, other, strict=True)
        )


def _intern(tag):
    return sys.intern(str(tag))
