"""Activations that are computed twice, so that none are kept."""

import keras
from keras import ops


def recompute(layer, states, **arguments):
    """Calls a layer, and once more when its gradient is asked for.

    Between the two calls nothing that the layer computed inside is kept: the
    memory of a deep stack grows with its states alone, for a third to a half
    more time. Both calls draw the same random numbers, so the gradient is the
    same.

    On JAX with a CPU, XLA finds the two calls and makes them one again, unless
    `XLA_FLAGS=--xla_disable_hlo_passes=cse_barrier_expander` is set.

    Args:
        layer: built `keras.layers.Layer`.
        states: float tensor, its first argument.
        **arguments: the others. Gradients go to what is a float tensor here,
            not to tensors inside of tuples.

    Returns:
        What the layer returns.

    Reference:
        [Chen et al., 2016](https://arxiv.org/abs/1604.06174)
    """
    # TensorFlow gives no gradient to what a function does not take as an
    # argument, and a warning for every integer that it takes.
    tensors = {
        name: arguments.pop(name)
        for name, value in [*arguments.items()]
        if ops.is_tensor(value) and keras.backend.is_float_dtype(value.dtype)
    }
    trained = [ops.convert_to_tensor(v) for v in layer.trainable_variables]
    others = layer.non_trainable_variables
    # Times 1 is a copy: a value that is assigned to below may change with it.
    before = [variable.value * 1 for variable in others]

    def call(trained, states, tensors):
        return layer.stateless_call(
            trained, before, states, **tensors, **arguments
        )

    outputs, after = keras.remat(call)(trained, states, tensors)
    for variable, value in zip(others, after, strict=True):
        variable.assign(value)
    return outputs
