"""Pieces -> windows, and from windows back to pieces.

Alignment goes by word ids, never by counting. Each piece is read in exactly
one window: the one that shows most of what stands around its word. So every
word gets one label, however long its sentence is.
"""

import array
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pipelines.tagging.pieces import Sentence
from pipelines.training.inputs import Inputs, Rows, RowWriter

# Sentences whose pieces are kept for those beside them.
_KEPT = 1024


@dataclasses.dataclass(frozen=True)
class Windows:
    """What a tagger reads, and where its answers belong.

    The pieces of a sentence count one after the other in its windows, which
    follow one another.

    Attributes:
        inputs: `Inputs` with `token_ids`, a row a window.
        starts: int array (windows,), the position of the first token whose
            output counts.
        counts: int array (windows,), how many count from there on.
        by_sentence: int array (sentences,), the windows of each sentence.
    """

    inputs: Inputs
    starts: np.ndarray
    counts: np.ndarray
    by_sentence: np.ndarray


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
        sentences: as the tokenizer cuts them.
        max_length: tokens of a window, [CLS] and [SEP] included.
        stride: pieces that neighbouring windows of a long sentence share;
            None for a quarter of a window.
        documents: None, or the document of each sentence: then the room that
            a sentence leaves in its window is filled with its neighbours in
            the document (FLERT, https://arxiv.org/abs/2011.06993).
    """
    room = max_length - 2
    stride = room // 4 if stride is None else stride
    token_ids = RowWriter("int32")
    starts, counts = array.array("q"), array.array("q")
    by_sentence = np.zeros(len(sentences), "int64")
    if documents is not None:
        neighbours = _Neighbours(sentences, documents)
    cls = tokenizer.backend.token_to_id(tokenizer.special_tokens["cls_token"])
    sep = tokenizer.backend.token_to_id(tokenizer.special_tokens["sep_token"])
    for i, sentence in enumerate(sentences):
        for start, end, first, count in _spans(sentence.words, room, stride):
            before = after = ()
            if documents is not None:
                space = room - (end - start)
                # Inside a sentence that is cut, its own words stand beside.
                before, after = _context(
                    neighbours.before(i, space) if start == 0 else [],
                    neighbours.after(i, space)
                    if end == len(sentence.pieces)
                    else [],
                    space,
                )
            ids = [cls, *before, *sentence.pieces[start:end], *after, sep]
            token_ids.append(np.array(ids, "int32"))
            starts.append(1 + len(before) + first - start)
            counts.append(count)
            by_sentence[i] += 1
    return Windows(
        inputs=Inputs(
            {"token_ids": token_ids.rows()},
            {"token_ids": tokenizer.pad_id},
            longest=max_length,
        ),
        starts=np.array(starts, "int64"),
        counts=np.array(counts, "int64"),
        by_sentence=by_sentence,
    )


def gather(
    windows: Windows, outputs: Rows | Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Brings the outputs of windows back to the pieces.

    Args:
        windows: from `make_windows`.
        outputs: for each window an array (tokens, width).

    Yields:
        For each sentence an array (pieces, width).
    """
    end = 0
    for number in windows.by_sentence:
        start, end = end, end + number
        yield np.concatenate(
            [
                outputs[window][first : first + count]
                for window, first, count in zip(
                    range(start, end),
                    windows.starts[start:end],
                    windows.counts[start:end],
                    strict=True,
                )
            ]
        )


def token_rows(
    windows: Windows,
    sentences: Iterable[Sentence],
    values: Iterable[np.ndarray],
    dtype: str,
) -> Rows:
    """A value for each token of each window: of its word, or 0.

    Args:
        windows: from `make_windows`.
        sentences: that were put into them.
        values: for each sentence an array (words,): goes to the first piece
            of a word in the window where the word counts.
        dtype: of the result.
    """
    rows, lengths = RowWriter(dtype), windows.inputs.lengths
    window = 0
    for number, sentence, some in zip(
        windows.by_sentence, sentences, values, strict=True
    ):
        by_piece = np.zeros(len(sentence.pieces), dtype)
        by_piece[sentence.is_first] = some
        done = 0
        for _ in range(number):
            row = np.zeros(lengths[window], dtype)
            start, count = windows.starts[window], windows.counts[window]
            row[start : start + count] = by_piece[done : done + count]
            rows.append(row)
            done += count
            window += 1
    return rows.rows()


def _spans(words, room, stride):
    """Yields (start, end, first that counts, how many) for each window.

    Windows start at a word. A piece counts where the smaller of its distances
    to the window's ends is largest; an end of the sentence is no cut.
    """
    total = len(words)
    if total <= room:
        yield 0, total, 0, total
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
    # The margins rise to a window's middle and fall again, so what counts in
    # a window stands together, and after what counts in the one before.
    counts = np.bincount(chosen, minlength=len(starts))
    firsts = np.cumsum(counts) - counts
    yield from zip(starts, ends, firsts, counts, strict=True)


class _Neighbours:
    """The pieces beside the sentences of documents.

    Sentences without pieces are passed over at once, and what is near is kept:
    the next sentence asks for most of it again.
    """

    def __init__(self, sentences, documents):
        self._documents = documents
        self._filled = np.flatnonzero([len(s.pieces) for s in sentences])
        self._pieces = functools.lru_cache(_KEPT)(
            lambda index: list(sentences[index].pieces)
        )

    def before(self, index, space):
        """At least `space` pieces before a sentence, if there are as many."""
        place = np.searchsorted(self._filled, index)
        found = self._near(index, self._filled[:place][::-1], space)
        return [piece for some in reversed(found) for piece in some]

    def after(self, index, space):
        """Likewise, after it."""
        place = np.searchsorted(self._filled, index, side="right")
        found = self._near(index, self._filled[place:], space)
        return [piece for some in found for piece in some]

    def _near(self, index, others, space):
        found, size = [], 0
        for other in others:
            if size >= space or (
                self._documents[other] != self._documents[index]
            ):
                break
            found.append(self._pieces(int(other)))
            size += len(found[-1])
        return found


def _context(before, after, space):
    """The nearest pieces of both sides; one takes what the other leaves."""
    right = min(len(after), max(space // 2, space - len(before)))
    left = min(len(before), space - right)
    return before[len(before) - left :], after[:right]
