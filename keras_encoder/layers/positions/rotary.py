"""Rotary positions: queries and keys are turned by their position."""

import math

import keras
import numpy as np
from keras import ops

from keras_encoder.layers.checks import check_positive


def rotation(length, head_dim, base):
    """Cosines and sines of `p / base^(2i / head_dim)`, p the position.

    Args:
        length: int, or scalar int tensor.
        head_dim: int, even.
        base: float.

    Returns:
        Two float32 tensors (length, head_dim / 2).
    """
    rates = base ** (-2 * np.arange(head_dim // 2) / head_dim)
    # In float32 whatever the policy: bfloat16 has no numbers between 256 and
    # 258, so neighbours would share their angle.
    position = ops.cast(ops.arange(length), "float32")
    angles = position[:, None] * ops.convert_to_tensor(rates, "float32")
    return ops.cos(angles), ops.sin(angles)


def rotate_pairs(tensor, cos, sin):
    """Turns each pair of neighbouring features by the angle of its position.

    Args:
        tensor: tensor (batch, heads, seq, head_dim).
        cos: float32 tensor (seq or more, head_dim / 2).
        sin: as `cos`.

    Returns:
        Tensor of the shape and dtype of `tensor`; computed in float32.
    """
    shape = ops.shape(tensor)
    batch, heads, length, head_dim = shape
    pairs = ops.reshape(tensor, (batch, heads, length, head_dim // 2, 2))
    pairs = ops.cast(pairs, "float32")
    x, y = pairs[..., 0], pairs[..., 1]
    cos, sin = cos[:length], sin[:length]
    turned = ops.stack([x * cos - y * sin, x * sin + y * cos], axis=-1)
    return ops.cast(ops.reshape(turned, shape), tensor.dtype)


@keras.saving.register_keras_serializable(package="keras_encoder")
class RotaryPositions(keras.layers.Layer):
    """Turns queries and keys, so that scores know the distance.

    The score of a query at position m and a key at n depends on the two
    vectors and m - n alone. Nothing is trained, the embeddings pass as they
    are, and there is no longest input.

    Features 2i and 2i + 1 form a pair, as in the paper and in RoFormer.
    (LLaMA pairs i and i + head_dim / 2, which is the same up to the order of
    the features.)

    Args:
        num_heads: int. Heads of the attention; the width of a head must be
            even.
        base: float above 1. The slowest pair turns by nearly 1 / base of a
            radian a position.

    Call arguments:
        embeddings: tensor (batch, seq, hidden).

    Returns:
        Tensor (batch, seq, hidden).

    Reference:
        [Su et al., 2021](https://arxiv.org/abs/2104.09864), eq. 15 and 34
    """

    longest_input = math.inf

    def __init__(self, num_heads, base=10000.0, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads)
        if not isinstance(base, (int, float)) or not 1 < base < math.inf:
            raise ValueError(
                f"`base` must be a number above 1. Received: base={base!r}"
            )
        self.num_heads = num_heads
        self.base = base

    @classmethod
    def for_encoder(
        cls, max_sequence_length, num_heads, embeddings_initializer, **kwargs
    ):
        return cls(num_heads, **kwargs)

    def build(self, embeddings_shape):
        hidden_dim = embeddings_shape[-1]
        if hidden_dim % (2 * self.num_heads):
            raise ValueError(
                "With rotary positions `hidden_dim` must be an even multiple "
                f"of `num_heads`. Received: hidden_dim={hidden_dim}, "
                f"num_heads={self.num_heads}"
            )
        self.head_dim = hidden_dim // self.num_heads

    def call(self, embeddings):
        return embeddings

    def attention_arguments(self, length):
        """The `rotate`; shorter tensors have the first positions."""
        cos, sin = rotation(length, self.head_dim, self.base)
        return {"rotate": lambda tensor: rotate_pairs(tensor, cos, sin)}

    def compute_output_shape(self, embeddings_shape):
        return tuple(embeddings_shape)

    def get_config(self):
        config = super().get_config()
        config.update(num_heads=self.num_heads, base=self.base)
        return config
