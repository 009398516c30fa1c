"""Training, validation and test parts of tagged data, whole documents each."""

from collections.abc import Sequence

import numpy as np

from pipelines.data.examples import TaggedExample
from pipelines.data.tagged.stored import StoredSentences
from pipelines.errors import InputError

# Below this many documents a part of 10 % would not be 10 %.
_FEWEST_DOCUMENTS = 10


def split_documents(
    examples: Sequence[TaggedExample], shares: Sequence[float], seed: int
) -> list[StoredSentences]:
    """Splits off one part a share, and returns the rest followed by them.

    Documents are drawn at random, the same for the same seed, and stay whole.
    Each part has its share of the documents, one at least, in their order.

    Data of fewer than ten documents (most often one, as the file marks none)
    are split by sentence. Every sentence is a document of its own then, so
    that no sentence has a neighbour from another part.

    Args:
        examples: all sentences, in order.
        shares: share of the documents for each part, such as `(0.1, 0.1)`.
        seed: the seed, 0 or more.

    Raises:
        InputError: if there are too few sentences for a part.
    """
    if seed < 0:
        raise InputError(f"seed: expected 0 or more, found {seed}.")
    if not isinstance(examples, StoredSentences):
        examples = StoredSentences(examples)
    if not splits_by_document(examples):
        examples = examples.each_alone()
    documents, numbers = np.unique(examples.documents, return_inverse=True)
    if len(documents) <= len(shares):
        raise InputError(
            f"{examples[0].where if examples else 'data'}: expected at least "
            f"{len(shares) + 1} sentences to split, found {len(documents)}; "
            "give more, or separate files (--train, --validation, --test)."
        )
    order = np.random.default_rng(seed).permutation(len(documents))
    part_of = np.zeros(len(documents), "int64")
    position = 0
    for part, share in enumerate(shares, start=1):
        size = max(1, round(share * len(documents)))
        part_of[order[position : position + size]] = part
        position += size
    return [
        examples.take(np.flatnonzero(part_of[numbers] == part))
        for part in range(len(shares) + 1)
    ]


def splits_by_document(examples: StoredSentences) -> bool:
    """Tells whether there are enough documents to keep them whole."""
    return len(np.unique(examples.documents)) >= _FEWEST_DOCUMENTS
