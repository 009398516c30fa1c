import numpy as np

from keras_encoder.layers import Pooler
from tests.keras_encoder.fixed_weights import set_sine_weights, states
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def test_contract():
    check_layer(Pooler, dict, states())


def test_equals_its_formula():
    layer = Pooler()
    layer.build(states().shape)
    kernel, bias = (each.numpy() for each in set_sine_weights(layer).weights)
    expected = np.tanh(states()[:, 0] @ kernel + bias)
    np.testing.assert_allclose(to_numpy(layer(states())), expected, atol=1e-6)


def test_reads_the_first_token_only():
    layer = Pooler()
    layer.build(states().shape)
    changed = states()
    changed[:, 1:] = 9.0
    np.testing.assert_array_equal(
        to_numpy(layer(changed)), to_numpy(layer(states()))
    )
