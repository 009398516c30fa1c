import numpy as np
import pytest

from keras_encoder.layers import LearnedPositions
from tests.keras_encoder.fixed_weights import (
    HIDDEN,
    MAX_SEQ,
    set_sine_weights,
    sine,
    states,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def test_contract():
    check_layer(
        LearnedPositions,
        lambda: dict(
            max_sequence_length=MAX_SEQ, embeddings_initializer="zeros"
        ),
        states(),
    )


def test_adds_the_row_of_each_position():
    layer = LearnedPositions(MAX_SEQ)
    layer.build((None, None, HIDDEN))
    table = set_sine_weights(layer).weights[0].numpy()
    np.testing.assert_allclose(
        to_numpy(layer(states())), states() + table[:5], atol=1e-6
    )


def test_an_input_as_long_as_the_table_fits():
    layer = LearnedPositions(MAX_SEQ)
    assert layer(states(seq=MAX_SEQ)).shape == (3, MAX_SEQ, HIDDEN)


def test_an_input_longer_than_the_table_is_refused():
    layer = LearnedPositions(MAX_SEQ)
    with pytest.raises(ValueError) as raised:
        layer(sine((3, MAX_SEQ + 1, HIDDEN)))
    message = str(raised.value)
    assert "max_sequence_length=11 tokens. Received: 12" in message
    assert "Truncate the input" in message


@pytest.mark.parametrize("length", [0, -1, 2.5, None])
def test_a_length_out_of_range_is_refused(length):
    with pytest.raises(ValueError, match=f"max_sequence_length={length}"):
        LearnedPositions(length)
