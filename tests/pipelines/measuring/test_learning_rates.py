"""The learning rates that a model trains at, against training by hand."""

import keras
import numpy as np
import pytest

from pipelines.measuring.learning_rates import losses_by_schedule

ROWS, WIDTH, CLASSES = 12, 3, 2
INPUTS = {"x": np.sin(np.arange(ROWS * WIDTH)).reshape(ROWS, WIDTH)}
TARGETS = np.arange(ROWS) % CLASSES


def linear():
    inputs = keras.Input((WIDTH,), name="x")
    dense = keras.layers.Dense(CLASSES, use_bias=False)
    model = keras.Model({"x": inputs}, dense(inputs))
    model.set_weights([np.cos(np.arange(WIDTH * CLASSES)).reshape(WIDTH, -1)])
    return model


def adam(kernel, rates):
    """The losses of Adam on all rows, from its paper."""
    x, hot = INPUTS["x"], np.eye(CLASSES)[TARGETS]
    first = second = 0.0
    losses = []
    for step, rate in enumerate(rates, start=1):
        logits = x @ kernel
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        losses.append(-np.log((shares * hot).sum(axis=1)).mean())
        gradient = x.T @ (shares - hot) / ROWS
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        mean, square = first / (1 - 0.9**step), second / (1 - 0.999**step)
        kernel = kernel - rate * mean / (np.sqrt(square) + 1e-8)
    return losses


def test_the_losses_are_those_of_adam_with_a_warm_up():
    model = linear()
    kernel = model.get_weights()[0]
    found = losses_by_schedule(
        model, INPUTS, TARGETS, [(0.3, 2), (0.0, 0)], 5, batch_size=ROWS
    )
    assert list(found) == [(0.3, 2), (0.0, 0)]
    expected = adam(kernel, [0.15, 0.3, 0.3, 0.3, 0.3])
    np.testing.assert_allclose(found[0.3, 2], expected, rtol=1e-4)
    np.testing.assert_allclose(found[0.0, 0], [expected[0]] * 5, rtol=1e-5)
    np.testing.assert_array_equal(model.get_weights()[0], kernel)


def test_every_schedule_sees_the_same_batches():
    found = losses_by_schedule(
        linear(), INPUTS, TARGETS, [(0.0, 0), (1e-9, 0)], 4, batch_size=3
    )
    np.testing.assert_allclose(found[0.0, 0], found[1e-9, 0], rtol=1e-5)
    assert len(set(found[0.0, 0])) == 4  # the rows are drawn anew
    with pytest.raises(ValueError, match="larger sample"):
        losses_by_schedule(
            linear(), INPUTS, TARGETS, [(0.1, 0)], 1, batch_size=99
        )
