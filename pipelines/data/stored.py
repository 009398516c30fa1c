"""Examples on disk: a sequence like a list that fits any amount of texts."""

import array
from collections.abc import Iterable, Sequence

import numpy as np

from pipelines.data.examples import TextExample
from pipelines.data.scratch import ScratchRecords


class StoredExamples(Sequence):
    """Text examples in a temporary file, read back one at a time.

    In memory there are 32 bytes an example: where it stands, its label (equal
    ones share an object) and a hash of its texts.

    Args:
        examples: any iterable; it is read once.

    Attributes:
        labels: list, the label of each example.
        hashes: int64 array, equal for examples with equal texts; comparable
            within one process.
        has_pairs: whether an example has a second text.
    """

    def __init__(self, examples: Iterable[TextExample] = ()):
        self._records, hashes = ScratchRecords(), array.array("q")
        self.labels, self.has_pairs, shared = [], False, {}
        for e in examples:
            self._records.append((e.text, e.text_pair, e.where, e.id))
            hashes.append(hash((e.text, e.text_pair)))
            label = e.label
            if not isinstance(label, float):
                label = shared.setdefault(label, label)
            self.labels.append(label)
            self.has_pairs |= e.text_pair is not None
        self.hashes = np.array(hashes, "int64")

    def take(self, rows: np.ndarray) -> "StoredExamples":
        """The examples of some rows, in the same file."""
        part = object.__new__(StoredExamples)
        part._records, part.has_pairs = self._records.take(rows), self.has_pairs
        part.hashes = self.hashes[rows]
        part.labels = [self.labels[row] for row in rows]
        return part

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        text, text_pair, where, identifier = self._records[index]
        return TextExample(
            text, text_pair, self.labels[index], where, identifier
        )

    def __eq__(self, other):
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(
            one == another for one, another in zip(self, other, strict=True)
        )


def labels_of(examples: Sequence[TextExample]) -> list:
    """The label of each example, without reading stored texts."""
    if isinstance(examples, StoredExamples):
        return examples.labels
    return [example.label for example in examples]


def have_pairs(examples: Sequence[TextExample]) -> bool:
    """Whether an example has a second text, likewise."""
    if isinstance(examples, StoredExamples):
        return examples.has_pairs
    return any(example.text_pair is not None for example in examples)
