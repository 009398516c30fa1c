"""The last layer of a head that classifies."""

import keras

from keras_encoder.layers.initializers import bert_initializer


def dense_logits(num_classes, hidden_dim):
    """A built dense layer that stays in float32 under mixed precision."""
    dense = keras.layers.Dense(
        num_classes,
        kernel_initializer=bert_initializer(),
        dtype="float32",
        name="logits",
    )
    dense.build((None, hidden_dim))
    return dense
