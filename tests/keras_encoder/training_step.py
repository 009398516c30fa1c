"""Gradients of a classifier on the running backend, as NumPy arrays."""

import keras
import numpy as np


def gradients_of(model, inputs, labels, sample_weight=None):
    """List of (path, gradient of the loss) for every trainable weight.

    The gradient is the step that plain gradient descent with a learning rate
    of 1 takes, read from the weights: one way for three backends.
    """
    before = [weight.numpy() for weight in model.trainable_weights]
    model.compile(
        optimizer=keras.optimizers.SGD(1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        # JAX without a compiled step compiles each operation instead.
        jit_compile=keras.backend.backend() == "jax",
    )
    model.fit(
        inputs,
        labels,
        sample_weight=sample_weight,
        batch_size=len(labels),
        shuffle=False,  # dropout falls by row
        verbose=0,
    )
    gradients = [
        (weight.path, old - weight.numpy())
        for weight, old in zip(model.trainable_weights, before, strict=True)
    ]
    for weight, old in zip(model.trainable_weights, before, strict=True):
        weight.assign(np.asarray(old))
    return gradients
