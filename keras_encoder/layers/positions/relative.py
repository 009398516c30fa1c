"""Relative positions: a trained bias of the scores, by distance, as in T5."""

import math

import keras
import numpy as np
from keras import ops

from keras_encoder.layers.checks import check_positive


def distance_buckets(num_buckets, max_distance):
    """The bucket of each distance in one direction.

    The first half of the buckets are one distance each, the others widen
    with its logarithm up to `max_distance`; the last holds all beyond.

    Args:
        num_buckets: int. Buckets of one direction, 2 or more.
        max_distance: int, more than half of the buckets.

    Returns:
        int32 array (max_distance + 1,).
    """
    exact = num_buckets // 2
    distance = np.arange(max_distance + 1)
    # At least 1: the small ones are exact and read no logarithm.
    ratio = np.maximum(distance, exact).astype("float32") / exact
    scale = (num_buckets - exact) / math.log(max_distance / exact)
    wide = exact + (np.log(ratio) * np.float32(scale)).astype("int32")
    wide = np.minimum(wide, num_buckets - 1)
    return np.where(distance < exact, distance, wide).astype("int32")


@keras.saving.register_keras_serializable(package="keras_encoder")
class RelativePositions(keras.layers.Layer):
    """A bias for each head and bucket of distances, the same in all layers.

    The embeddings pass as they are. Half of the buckets are for keys before
    the query, half for keys after it. There is no longest input: beyond
    `max_distance` all distances share a bucket.

    Args:
        num_heads: int. Heads of the attention.
        num_buckets: int. Both directions together; even, 4 or more.
        max_distance: int. Distance at which the last bucket begins; more than
            a quarter of the buckets.
        embeddings_initializer: initializer of the biases.

    Call arguments:
        embeddings: tensor (batch, seq, hidden).

    Returns:
        Tensor (batch, seq, hidden).

    Reference:
        [Raffel et al., 2020](https://arxiv.org/abs/1910.10683), 2.1. T5 does
        not divide scores by sqrt(head_dim); `SelfAttention` does, and adds
        the bias after it.
    """

    longest_input = math.inf

    def __init__(
        self,
        num_heads,
        num_buckets=32,
        max_distance=128,
        embeddings_initializer="zeros",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(
            num_heads=num_heads,
            num_buckets=num_buckets,
            max_distance=max_distance,
        )
        if num_buckets % 2 or not 4 <= num_buckets < 4 * max_distance:
            raise ValueError(
                "`num_buckets` must be even, 4 or more, and less than four "
                f"times `max_distance`. Received: num_buckets={num_buckets}, "
                f"max_distance={max_distance}"
            )
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )

    @classmethod
    def for_encoder(
        cls, max_sequence_length, num_heads, embeddings_initializer, **kwargs
    ):
        return cls(
            num_heads, embeddings_initializer=embeddings_initializer, **kwargs
        )

    def build(self, embeddings_shape):
        self.table = self.add_weight(
            name="embeddings",
            shape=(self.num_buckets, self.num_heads),
            initializer=self.embeddings_initializer,
        )

    def call(self, embeddings):
        return embeddings

    def attention_arguments(self, length):
        """The `position_bias` (1, heads, length, length), query by key."""
        buckets = distance_buckets(self.num_buckets // 2, self.max_distance)
        position = ops.arange(length, dtype="int32")
        distance = position[None, :] - position[:, None]  # key - query
        bucket = ops.take(
            ops.convert_to_tensor(buckets),
            ops.minimum(ops.abs(distance), self.max_distance),
        )
        after = ops.cast(distance > 0, "int32") * (self.num_buckets // 2)
        bias = ops.take(self.table, bucket + after, axis=0)  # (q, k, heads)
        return {"position_bias": ops.transpose(bias, (2, 0, 1))[None]}

    def compute_output_shape(self, embeddings_shape):
        return tuple(embeddings_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            num_heads=self.num_heads,
            num_buckets=self.num_buckets,
            max_distance=self.max_distance,
            embeddings_initializer=keras.initializers.serialize(
                self.embeddings_initializer
            ),
        )
        return config
