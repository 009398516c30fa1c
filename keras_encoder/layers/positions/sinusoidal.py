"""Fixed sinusoidal positions, as in the first Transformer."""

import math

import keras
import numpy as np
from keras import ops


def sinusoids(length, hidden_dim):
    """Sines and cosines of wave lengths from 2 pi to 20000 pi.

    `table[p, 2i] = sin(p / 10000^(2i / hidden))`, and the cosine of the same
    angle at `2i + 1`.

    Args:
        length: int, or scalar int tensor.
        hidden_dim: int.

    Returns:
        float32 tensor (length, hidden).
    """
    column = np.arange(hidden_dim)
    rates = 10000.0 ** (-(column // 2 * 2) / hidden_dim)
    position = ops.cast(ops.arange(length), "float32")
    angles = position[:, None] * ops.convert_to_tensor(rates, "float32")
    is_even = ops.convert_to_tensor(column % 2 == 0)
    return ops.where(is_even, ops.sin(angles), ops.cos(angles))


@keras.saving.register_keras_serializable(package="keras_encoder")
class SinusoidalPositions(keras.layers.Layer):
    """`sqrt(hidden) x + sinusoids`; no weights, no longest input.

    The factor is the paper's (section 3.4): next to sines of size 1, vectors
    that start with a deviation of 0.02 would hardly be seen.

    Call arguments:
        embeddings: tensor (batch, seq, hidden).

    Returns:
        Tensor (batch, seq, hidden).

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), 3.4 and 3.5
    """

    longest_input = math.inf

    @classmethod
    def for_encoder(
        cls, max_sequence_length, num_heads, embeddings_initializer, **kwargs
    ):
        return cls(**kwargs)

    def call(self, embeddings):
        hidden_dim = embeddings.shape[-1]
        table = sinusoids(ops.shape(embeddings)[1], hidden_dim)
        table = ops.cast(table, embeddings.dtype)
        return math.sqrt(hidden_dim) * embeddings + table

    def attention_arguments(self, length):
        return {}

    def compute_output_shape(self, embeddings_shape):
        return tuple(embeddings_shape)
