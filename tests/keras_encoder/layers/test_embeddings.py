import numpy as np
import pytest

from keras_encoder.layers import Embeddings
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    HIDDEN,
    MAX_SEQ,
    SEGMENTS,
    VOCABULARY,
    encoder_inputs,
    set_sine_weights,
)
from tests.keras_encoder.layer_contract import check_layer, policy, to_numpy

TOKENS = encoder_inputs()["token_ids"]
SEGMENT_IDS = encoder_inputs()["segment_ids"]


def arguments(**changes):
    return dict(
        vocabulary_size=VOCABULARY,
        hidden_dim=HIDDEN,
        max_sequence_length=MAX_SEQ,
        num_segments=SEGMENTS,
        **changes,
    )


def embeddings(**changes):
    layer = Embeddings(**arguments(**changes))
    layer.build((None, None))
    return set_sine_weights(layer)


def test_contract():
    check_layer(
        Embeddings,
        lambda: arguments(
            dropout=0.1,
            layer_norm_epsilon=1e-5,
            embeddings_initializer="zeros",
        ),
        TOKENS,
        call_arguments={"segment_ids": SEGMENT_IDS},
    )


@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
def test_equals_its_formula(epsilon):
    layer = embeddings(layer_norm_epsilon=epsilon)
    expected = numpy_reference.embeddings(
        TOKENS, SEGMENT_IDS, numpy_reference.weights_of(layer), epsilon
    )
    np.testing.assert_allclose(
        to_numpy(layer(TOKENS, SEGMENT_IDS)), expected, atol=5e-6
    )


def test_no_segment_ids_are_all_zeros():
    layer = embeddings()
    np.testing.assert_array_equal(
        to_numpy(layer(TOKENS)), to_numpy(layer(TOKENS, 0 * SEGMENT_IDS))
    )


def test_dropout_acts_in_training_only():
    layer = embeddings(dropout=0.5)
    at_rest = to_numpy(layer(TOKENS, training=False))
    np.testing.assert_array_equal(to_numpy(embeddings()(TOKENS)), at_rest)
    dropped = to_numpy(layer(TOKENS, training=True))
    kept = dropped != 0
    assert 0 < kept.sum() < kept.size
    np.testing.assert_allclose(dropped[kept], 2 * at_rest[kept], atol=1e-6)


@pytest.mark.parametrize(
    "dtype", ["float32", "mixed_float16", "mixed_bfloat16", "bfloat16"]
)
def test_rows_of_one_value_stay_finite(dtype):
    # A variance of 0 over an epsilon of 1e-12, which float16 rounds to 0.
    with policy(dtype):
        layer = Embeddings(**arguments(embeddings_initializer="zeros"))
        assert np.isfinite(to_numpy(layer(TOKENS))).all()


def test_an_input_longer_than_the_positions_is_refused():
    tokens = np.zeros((2, MAX_SEQ + 1), "int32")
    with pytest.raises(ValueError, match="max_sequence_length=11 tokens"):
        embeddings()(tokens)


@pytest.mark.parametrize(
    "name",
    ["vocabulary_size", "hidden_dim", "max_sequence_length", "num_segments"],
)
@pytest.mark.parametrize("value", [0, -3, 1.0])
def test_a_size_out_of_range_is_refused(name, value):
    with pytest.raises(ValueError, match=f"Received: {name}={value}"):
        Embeddings(**{**arguments(), name: value})


def test_a_dropout_out_of_range_is_refused():
    with pytest.raises(ValueError, match="Received: dropout=1.0"):
        Embeddings(**arguments(dropout=1.0))


def test_tables_start_with_numbers_of_their_own():
    layer = Embeddings(7, 4, 7, 7, embeddings_initializer="random_normal")
    layer.build((None, None))
    tables = [w.numpy() for w in layer.weights if w.name == "embeddings"]
    assert len(tables) == 3
    assert not np.allclose(tables[0], tables[1])
    assert not np.allclose(tables[0], tables[2])
