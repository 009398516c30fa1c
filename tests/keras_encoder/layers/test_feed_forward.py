import numpy as np
import pytest

from keras_encoder.layers import FeedForward
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    HIDDEN,
    INTERMEDIATE,
    set_sine_weights,
    sine,
    states,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def feed_forward(activation):
    layer = FeedForward(INTERMEDIATE, activation=activation)
    layer.build((None, None, HIDDEN))
    return set_sine_weights(layer)


@pytest.mark.parametrize("activation", ["gelu_tanh", "geglu"])
def test_contract(activation):
    check_layer(
        FeedForward,
        lambda: dict(
            intermediate_dim=INTERMEDIATE,
            activation=activation,
            kernel_initializer="he_normal",
        ),
        states(),
    )


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu", "geglu"])
def test_equals_its_formula(activation):
    layer, x = feed_forward(activation), 4 * states()
    expected = numpy_reference.feed_forward(
        x.astype("float64"), numpy_reference.weights_of(layer), activation
    )
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=2e-6)


def test_exact_and_tanh_gelu_differ():
    x = 4 * states()
    exact, tanh = feed_forward("gelu")(x), feed_forward("gelu_tanh")(x)
    assert np.abs(to_numpy(exact) - to_numpy(tanh)).max() > 1e-5


def test_a_gate_of_large_values_passes_its_other_half():
    layer = feed_forward("geglu")
    layer.gate_dense.kernel.assign(0 * layer.gate_dense.kernel.numpy())
    layer.gate_dense.bias.assign(np.full(INTERMEDIATE, 40.0))  # GELU(40) = 40
    linear = layer.intermediate_dense(states())
    expected = layer.output_dense(40.0 * linear)
    np.testing.assert_allclose(
        to_numpy(layer(states())), to_numpy(expected), rtol=1e-5
    )


@pytest.mark.parametrize("activation", ["gelu", "geglu"])
def test_each_position_stands_alone(activation):
    layer = feed_forward(activation)
    changed = states()
    changed[:, 1] += sine((HIDDEN,))
    difference = to_numpy(layer(changed)) - to_numpy(layer(states()))
    assert np.abs(difference[:, 1]).max() > 0.01
    np.testing.assert_array_equal(np.delete(difference, 1, axis=1), 0)


@pytest.mark.parametrize("activation", ["swoosh", "gelu_new", None, ["gelu"]])
def test_an_unknown_activation_is_refused(activation):
    with pytest.raises(ValueError, match="`activation` must be one of") as e:
        FeedForward(12, activation=activation)
    assert repr(activation) in str(e.value)


@pytest.mark.parametrize("width", [0, -1, 1.5])
def test_a_width_out_of_range_is_refused(width):
    with pytest.raises(ValueError, match=f"intermediate_dim={width}"):
        FeedForward(width)
