"""Texts longer than the encoder reads: windows of them, and one answer.

    mean   the mean of the windows' logits
    max    for each class the largest logit of a window
    vote   the mean of the windows' probabilities, as logits again: each
           window has one vote, which it may divide between classes

All three are differentiable, so that a text teaches through all its windows,
and of a single window all three are its logits.
"""

import dataclasses

import numpy as np
from keras import ops

NONE, MEAN, MAX, VOTE = "none", "mean", "max", "vote"


def combine(logits, owners, num_texts: int, how: str, problem: str):
    """The logits of whole texts from those of their windows.

    Args:
        logits: float32 (windows, classes).
        owners: int (windows,): the text of each window.
        num_texts: of the result.
        how: `mean`, `max` or `vote`.
        problem: `single_label`, `multi_label` or `regression`, whose votes
            are a mean.

    Returns:
        float32 tensor (num_texts, classes); of a text without a window 0.
    """
    if how == MAX:
        best = ops.segment_max(logits, owners, num_texts)
        counts = _counts(logits, owners, num_texts)
        return ops.where(counts > 0, best, 0.0)
    if how == MEAN or problem == "regression":
        return _segment_mean(logits, owners, num_texts)
    if problem == "single_label":
        return _log_mean(ops.log_softmax(logits), owners, num_texts)
    yes = _log_mean(ops.log_sigmoid(logits), owners, num_texts)
    return yes - _log_mean(ops.log_sigmoid(-logits), owners, num_texts)


def _counts(logits, owners, num_texts):
    return ops.segment_sum(ops.ones_like(logits[:, :1]), owners, num_texts)


def _segment_mean(values, owners, num_texts):
    counts = _counts(values, owners, num_texts)
    return ops.segment_sum(values, owners, num_texts) / ops.maximum(counts, 1)


def _log_mean(log_values, owners, num_texts):
    """Log of the mean of `exp(log_values)`, however small these are."""
    counts = _counts(log_values, owners, num_texts)
    largest = ops.segment_max(log_values, owners, num_texts)
    largest = ops.stop_gradient(ops.where(counts > 0, largest, 0.0))
    values = ops.exp(log_values - ops.take(largest, owners, axis=0))
    mean = _segment_mean(values, owners, num_texts)
    return ops.log(ops.where(counts > 0, mean, 1.0)) + largest


@dataclasses.dataclass(frozen=True)
class Cut:
    """How texts that are too long are cut into windows.

    Attributes:
        max_length: tokens of a window, special tokens included.
        stride: tokens that neighbouring windows share; None: a quarter of
            what a window has room for.
    """

    max_length: int
    stride: int | None = None

    def spans(self, length: int, room: int) -> np.ndarray:
        """Where windows start and end, int (windows, 2).

        All windows are full, and as few as overlap by the stride; so they lie
        evenly and mostly overlap by a little more.

        Args:
            length: tokens to divide.
            room: tokens of a window.
        """
        if length <= room:
            return np.array([[0, length]])
        count = 1 + -(-(length - room) // self._step(room))
        # In whole numbers: rounding must not lose a token.
        starts = np.arange(count) * (length - room) // (count - 1)
        return np.stack([starts, starts + room], axis=1)

    def mean_windows(self, lengths: np.ndarray, special: int) -> float:
        """Windows a text would have on average; of pairs about so many.

        Args:
            lengths: int array (texts,), tokens with the special ones.
            special: how many of them are special.
        """
        beyond = np.maximum(0, lengths - self.max_length)
        step = self._step(self.max_length - special)
        return float(np.mean(1 + -(-beyond // step)))

    def _step(self, room):
        # Half is shared at most, else there are far more windows than needed.
        stride = room // 4 if self.stride is None else self.stride
        return room - min(stride, room // 2)

    def windows(self, encoding) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Cuts one tokenised text, or pair of texts, that was not cut.

        Of a pair, each window holds the shorter text whole, or its first part
        if it takes more than half of the room, and slides over the longer.

        Args:
            encoding: `tokenizers.Encoding`.

        Returns:
            The token ids of the windows and their segment ids.
        """
        ids = np.array(encoding.ids, "int32")
        segments = np.array(encoding.type_ids, "int32")
        if len(ids) <= self.max_length:
            return [ids], [segments]
        sequence = np.array(
            [-1 if i is None else i for i in encoding.sequence_ids]
        )
        sizes = [int((sequence == i).sum()) for i in (0, 1)]
        long = int(sizes[1] > sizes[0])
        room = self.max_length - int((sequence == -1).sum())
        kept = np.ones(len(ids), bool)
        other = np.flatnonzero(sequence == 1 - long)
        kept[other[room // 2 :]] = False
        room -= min(len(other), room // 2)
        ids, segments = ids[kept], segments[kept]
        first = int(np.argmax(sequence[kept] == long))
        found = [], []
        for start, end in self.spans(sizes[long], room):
            for values, windows in zip((ids, segments), found, strict=True):
                windows.append(
                    np.concatenate(
                        [
                            values[:first],
                            values[first + start : first + end],
                            values[first + sizes[long] :],
                        ]
                    )
                )
        return found
