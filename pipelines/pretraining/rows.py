"""Rows of token ids to pretrain on: one text each, or pairs of texts."""

import dataclasses
from collections.abc import Callable

import numpy as np

from pipelines.errors import InputError
from pipelines.pretraining.sentence_rows import SentenceRows, pack
from pipelines.training.inputs import Inputs, Rows, RowWriter

# Draws of a random second text before it may be that there is no other.
_TRIES = 20


@dataclasses.dataclass(frozen=True)
class PretrainRows:
    """What one epoch reads.

    Attributes:
        inputs: `token_ids` and, of pairs, `segment_ids`.
        starts: where a word begins, like `token_ids`.
        is_random: of pairs, 0 where the second text follows the first and 1
            where it comes from elsewhere; else None.
    """

    inputs: Inputs
    starts: Rows
    is_random: np.ndarray | None = None


Draw = Callable[[np.random.Generator], PretrainRows]


def single_texts(sentences: SentenceRows, tokenizer, max_length: int) -> Draw:
    """Rows `[CLS] text [SEP]` of neighbouring sentences, every epoch alike.

    Args:
        sentences: none longer than `max_length - 2` tokens.
        tokenizer: `keras_encoder.tokenizer.Tokenizer`.
        max_length: tokens of a row.
    """
    cls, sep = _special(tokenizer)
    ids, starts = RowWriter("int32"), RowWriter("bool")
    for _, first, end in pack(sentences, max_length - 2):
        some, begins = sentences.join(range(first, end))
        ids.append(np.concatenate([cls, some, sep]))
        starts.append(np.concatenate([[False], begins, [False]]))
    rows = PretrainRows(
        _inputs(tokenizer, max_length, token_ids=ids), starts.rows()
    )
    return lambda generator: rows


def sentence_pairs(sentences: SentenceRows, tokenizer, max_length: int) -> Draw:
    """Rows `[CLS] first [SEP] second [SEP]`, drawn anew each epoch.

    In half of the rows the second text follows the first in its document, in
    the others it is from another document, and never what would follow.
    Documents of one sentence only serve as these others.

    Args:
        sentences: none longer than half of `max_length - 3` tokens.
        tokenizer, max_length: as in `single_texts`.

    Raises:
        InputError: if there is no document of two sentences, or no other.
    """
    room = max_length - 3
    packs = pack(sentences, room, least=2)
    if not len(packs) or len(sentences.ends) < 2:
        raise InputError(
            "--next-sentence: expected two documents or more, in training and "
            "in held-out text, and two sentences or more in one; found "
            f"{len(sentences.ends)} documents"
            + ("." if len(packs) else " of one sentence each.")
        )
    cls, sep = _special(tokenizer)

    def draw(generator):
        is_random = generator.permutation(np.arange(len(packs)) % 2)
        ids, segments = RowWriter("int32"), RowWriter("int32")
        starts = RowWriter("bool")
        for row, (document, start, end) in enumerate(packs):
            cut = start + generator.integers(1, end - start)
            first, first_begins = sentences.join(range(start, cut))
            follows = sentences.join(range(cut, end))
            second, second_begins = follows
            if is_random[row]:
                other = _from_elsewhere(
                    sentences, document, follows, room - len(first), generator
                )
                is_random[row] = other is not None
                second, second_begins = other or follows
            ids.append(np.concatenate([cls, first, sep, second, sep]))
            starts.append(
                np.concatenate(
                    [[False], first_begins, [False], second_begins, [False]]
                )
            )
            segments.append(
                np.repeat([0, 1], [len(first) + 2, len(second) + 1])
            )
        return PretrainRows(
            _inputs(tokenizer, max_length, token_ids=ids, segment_ids=segments),
            starts.rows(),
            is_random.astype("int32"),
        )

    return draw


def _from_elsewhere(sentences, document, follows, room, generator):
    """Sentences of another document, or None if all that was tried follows."""
    for _ in range(_TRIES):
        other = generator.integers(len(sentences.ends) - 1)
        numbers = sentences.document(other + (other >= document))
        if not numbers:
            continue
        first = generator.integers(numbers.start, numbers.stop)
        used = np.cumsum(sentences.ids.lengths[first : numbers.stop])
        count = max(1, int(np.searchsorted(used, room, side="right")))
        ids, begins = sentences.join(range(first, first + count))
        ids, begins = ids[:room], begins[:room]
        shared = min(len(ids), len(follows[0]))
        if not np.array_equal(ids[:shared], follows[0][:shared]):
            return ids, begins
    return None


def _special(tokenizer):
    """Ids of the first and of the separating token, each as an array."""
    return (
        np.array([tokenizer.backend.token_to_id(token)], "int32")
        for token in (
            tokenizer.special_tokens["cls_token"],
            tokenizer.special_tokens["sep_token"],
        )
    )


def _inputs(tokenizer, max_length, **columns):
    return Inputs(
        {name: rows.rows() for name, rows in columns.items()},
        {"token_ids": tokenizer.pad_id},
        longest=max_length,
    )
