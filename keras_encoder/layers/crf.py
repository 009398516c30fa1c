"""A linear-chain conditional random field over the counted positions."""

import keras
from keras import ops

from keras_encoder.layers.checks import check_positive


@keras.saving.register_keras_serializable(package="keras_encoder")
class CRF(keras.layers.Layer):
    """Scores whole sequences of tags, not each tag alone.

    The score of tags `y_1 ... y_n` at the counted positions of a row is

        start[y_1] + sum_i logits[i, y_i]
            + sum_i transitions[y_i, y_{i+1}] + end[y_n]

    and their probability is its exponential, divided by the sum of those of
    all sequences. Positions that do not count (padding, special tokens,
    further pieces of a word) are as if they were not there: the positions
    around them are neighbours.

    Computes in float32 under every policy, unless given a `dtype`.

    Args:
        num_tags: int.

    Call arguments:
        logits: float tensor (batch, seq, num_tags).
        counted: tensor (batch, seq), nonzero where a position counts; any
            positions of a row, and perhaps none.

    Returns:
        int32 tensor (batch, seq): the most probable tags, 0 where nothing
        counts.

    Reference:
        [Lafferty et al., 2001](https://repository.upenn.edu/handle/20.500.14332/6188)
    """

    def __init__(self, num_tags, **kwargs):
        super().__init__(**{"dtype": "float32", **kwargs})
        check_positive(num_tags=num_tags)
        self.num_tags = num_tags
        # XLA has no gradient for TensorFlow's loops of unknown length.
        self.supports_jit = keras.backend.backend() != "tensorflow"

    def build(self, logits_shape):
        n = self.num_tags
        self.transitions = self._scores("transitions", (n, n))
        self.start = self._scores("start", (n,))
        self.end = self._scores("end", (n,))

    def call(self, logits, counted):
        return self.decode(logits, counted)

    def log_likelihood(self, logits, tags, counted):
        """Log-probability of the tags of each row.

        Args:
            logits: float tensor (batch, seq, num_tags).
            tags: int tensor (batch, seq); read where `counted` is nonzero.
            counted: tensor (batch, seq).

        Returns:
            Tensor (batch,); 0 where nothing counts.
        """
        logits, counted, order = self._close_up(logits, counted)
        tags = ops.take_along_axis(ops.cast(tags, "int32"), order, axis=1)
        tags = ops.where(counted, tags, 0)
        result = self._score(logits, tags, counted) - self._log_sum(
            logits, counted
        )
        return ops.where(counted[:, 0], result, 0.0)

    def decode(self, logits, counted):
        """The most probable tags of each row, as in `call` (Viterbi)."""
        logits, counted, order = self._close_up(logits, counted)

        def forward(best, step):
            emission, goes_on = step[:, :-1], step[:, -1:] > 0
            paths = best[:, :, None] + self.transitions  # (b, before, after)
            came_from = ops.where(
                goes_on, ops.cast(ops.argmax(paths, axis=1), best.dtype), same
            )
            best = ops.where(goes_on, ops.max(paths, axis=1) + emission, best)
            return best, came_from

        def backward(tag, came_from):
            before = ops.take_along_axis(came_from, tag, axis=-1)
            return before, tag

        first = logits[:, 0] + self.start
        same = ops.zeros_like(first) + ops.arange(
            self.num_tags, dtype=first.dtype
        )
        steps = _steps(logits, counted)
        best, came_from = ops.scan(forward, first, steps)
        # TensorFlow loses the rank where the length is unknown.
        came_from = ops.reshape(came_from, ops.shape(steps[:, :, :-1]))
        last = ops.argmax(best + self.end, axis=-1)[:, None]
        _, tags = ops.scan(
            backward,
            ops.cast(last, "int32"),
            ops.cast(came_from, "int32"),
            reverse=True,
        )
        tags = ops.transpose(ops.reshape(tags, ops.shape(steps)[:2]))
        tags = ops.where(counted, tags, 0)
        return ops.take_along_axis(tags, ops.argsort(order, axis=1), axis=1)

    def compute_output_spec(self, logits, counted):
        return keras.KerasTensor(logits.shape[:2], dtype="int32")

    def get_config(self):
        config = super().get_config()
        config["num_tags"] = self.num_tags
        return config

    def _scores(self, name, shape):
        return self.add_weight(name=name, shape=shape, initializer="zeros")

    def _close_up(self, logits, counted):
        """Moves the counted positions of each row to its front, in order.

        Returns:
            logits and counted (bool) in the new order, and the old position
            of each new one.
        """
        logits = ops.cast(logits, self.compute_dtype)
        counted = ops.not_equal(counted, 0)
        places = ops.arange(ops.shape(logits)[1], dtype="int32")
        # No two keys are equal, so that no backend may choose.
        keys = ops.where(counted, places, places + ops.shape(logits)[1])
        order = ops.cast(ops.argsort(keys, axis=1), "int32")
        return (
            ops.take_along_axis(logits, order[:, :, None], axis=1),
            ops.take_along_axis(counted, order, axis=1),
            order,
        )

    def _score(self, logits, tags, counted):
        """The score of tags at closed-up positions, (batch,)."""
        weight = ops.cast(counted, logits.dtype)
        emitted = ops.take_along_axis(logits, tags[:, :, None], axis=2)[..., 0]
        pairs = tags[:, :-1] * self.num_tags + tags[:, 1:]
        moved = ops.take(ops.reshape(self.transitions, (-1,)), pairs)
        count = ops.sum(ops.cast(counted, "int32"), axis=1, keepdims=True)
        last = ops.take_along_axis(tags, ops.maximum(count - 1, 0), axis=1)
        return (
            ops.sum(emitted * weight, axis=1)
            + ops.sum(moved * weight[:, 1:], axis=1)
            + ops.take(self.start, tags[:, 0])
            + ops.take(self.end, last[:, 0])
        )

    def _log_sum(self, logits, counted):
        """Logarithm of the summed exponentials of all scores, (batch,)."""

        def forward(total, step):
            emission, goes_on = step[:, :-1], step[:, -1:] > 0
            paths = total[:, :, None] + self.transitions  # (b, before, after)
            following = ops.logsumexp(paths, axis=1) + emission
            total = ops.where(goes_on, following, total)
            return total, total

        first = logits[:, 0] + self.start
        total, _ = ops.scan(forward, first, _steps(logits, counted))
        return ops.logsumexp(total + self.end, axis=1)


def _steps(logits, counted):
    """(seq, batch, tags + 1): logits, and whether the sequence moves there.

    It does not move to its first position, where it starts. One tensor, as
    TensorFlow's scan takes several only if their length is known.
    """
    goes_on = ops.logical_and(counted, ops.arange(ops.shape(counted)[1]) > 0)
    goes_on = ops.cast(goes_on, logits.dtype)[:, :, None]
    return ops.transpose(ops.concatenate([logits, goes_on], -1), (1, 0, 2))
