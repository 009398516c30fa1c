import keras_hub
import numpy as np
import pytest

from keras_encoder.layers.positions.sinusoidal import (
    SinusoidalPositions,
    sinusoids,
)
from tests.keras_encoder.fixed_weights import HIDDEN, sine, states
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def by_hand(length, hidden):
    """One number after the other, from the formula."""
    table = np.zeros((length, hidden))
    for position in range(length):
        for column in range(hidden):
            angle = position / 10000 ** (2 * (column // 2) / hidden)
            wave = np.cos if column % 2 else np.sin
            table[position, column] = wave(angle)
    return table


def test_contract():
    check_layer(SinusoidalPositions, dict, states())


@pytest.mark.parametrize(("length", "hidden"), [(5, 8), (130, 6), (7, 5)])
def test_equals_its_formula(length, hidden):
    np.testing.assert_allclose(
        to_numpy(sinusoids(length, hidden)), by_hand(length, hidden), atol=1e-5
    )


def test_equals_keras_hub():
    theirs = keras_hub.layers.SinePositionEncoding()(sine((1, 50, 12)))
    np.testing.assert_allclose(
        to_numpy(sinusoids(50, 12)), to_numpy(theirs)[0], atol=1e-5
    )


def test_is_added_to_embeddings_of_about_its_size():
    layer = SinusoidalPositions()
    expected = np.sqrt(HIDDEN) * states() + by_hand(5, HIDDEN)
    np.testing.assert_allclose(to_numpy(layer(states())), expected, atol=1e-5)
    assert layer.weights == []
