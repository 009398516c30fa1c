"""Dropout from few random numbers."""

import math

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_encoder")
class Dropout(keras.layers.Dropout):
    """Inverted dropout that draws one random byte for each value.

    A random float32 for each value, as `keras.layers.Dropout` draws, is a
    tenth of the time of a training step on a CPU, most of it in the attention
    probabilities. A value falls where its byte is below `256 * rate`; that
    bound is rounded up or down at random for each example, so that the mean
    rate is exact.

    Made as `keras.layers.Dropout` is: `rate`, a float in [0, 1), and `seed`,
    an int, or None for one drawn from Keras' own.

    Call arguments:
        inputs: tensor (batch, ...).
        training: bool. Without it, the inputs are returned as they are.

    Returns:
        Tensor of the same shape and dtype.

    Reference:
        [Srivastava et al., 2014](https://jmlr.org/papers/v15/srivastava14a.html)
    """

    def call(self, inputs, training=False):
        if not training or self.rate == 0:
            return inputs
        if self.rate > 255 / 256:  # finer than a byte can tell
            return super().call(inputs, training=training)
        shape = ops.shape(inputs)
        size = math.prod(shape)
        # TensorFlow takes bytes apart only along an axis of known size.
        words = keras.random.randint(
            ((size + 3) // 4, 1), -(2**31), 2**31 - 1, seed=self.seed_generator
        )
        drawn = ops.reshape(ops.view(words, "uint8"), (-1,))
        drawn = ops.reshape(drawn[:size], shape)
        rounding = keras.random.uniform(
            (shape[0], *(1 for _ in shape[1:])), seed=self.seed_generator
        )
        bound = ops.cast(ops.floor(256 * self.rate + rounding), "uint8")
        kept = ops.cast(drawn >= bound, inputs.dtype)
        return inputs * (kept * (1 / (1 - self.rate)))
