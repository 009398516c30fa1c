import keras
import numpy as np
import pytest

from keras_encoder.layers import Dropout
from tests.keras_encoder.fixed_weights import states
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def test_contract():
    check_layer(Dropout, lambda: {"rate": 0.1, "seed": 1}, states())


@pytest.mark.parametrize("rate", [0.002, 0.1, 0.5, 0.999])
def test_the_mean_rate_is_exact(rate):
    """Also where it is no multiple of 1/256."""
    ones = np.ones((400, 1501), "float32")  # its size is no multiple of 4
    outputs = to_numpy(Dropout(rate, seed=1)(ones, training=True))
    kept = outputs != 0
    np.testing.assert_allclose(outputs[kept], 1 / (1 - rate), rtol=1e-6)
    # Each example's own rate is off by less than 1/256, so the mean of 400
    # by 1/256/20 at most, beside the noise of 600,400 draws.
    error = 4 * np.sqrt(rate * (1 - rate) / ones.size + (1 / 512) ** 2 / 400)
    assert abs(1 - kept.mean() - rate) < error


def test_where_a_value_falls_says_nothing_of_its_neighbours():
    ones = np.ones((64, 4096), "float32")
    fallen = to_numpy(Dropout(0.5, seed=3)(ones, training=True)) == 0
    for step in (1, 2, 3, 4):
        both = (fallen[:, step:] & fallen[:, :-step]).mean()
        np.testing.assert_allclose(both, 0.25, atol=0.005)
    both = (fallen[1:] & fallen[:-1]).mean()
    np.testing.assert_allclose(both, 0.25, atol=0.005)


def test_calls_differ_and_seeds_repeat():
    ones = np.ones((4, 64), "float32")
    layer, again = Dropout(0.5, seed=7), Dropout(0.5, seed=7)
    first, second = (to_numpy(layer(ones, training=True)) for _ in range(2))
    assert (first != second).any()
    np.testing.assert_array_equal(to_numpy(again(ones, training=True)), first)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_nothing_falls_outside_of_training(rate):
    np.testing.assert_array_equal(to_numpy(Dropout(rate)(states())), states())


class TwoLengths(keras.utils.PyDataset):
    """So that TensorFlow traces with sizes that it does not know."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        inputs = np.ones((2, 3 + index, 4), "float32")
        return inputs, inputs


def test_it_trains_where_sizes_are_not_known():
    inputs = keras.Input((None, 4))
    outputs = Dropout(0.5)(keras.layers.Dense(4)(inputs))
    model = keras.Model(inputs, outputs)
    model.compile(optimizer="sgd", loss="mse")
    history = model.fit(TwoLengths(), verbose=0)
    assert np.isfinite(history.history["loss"]).all()
