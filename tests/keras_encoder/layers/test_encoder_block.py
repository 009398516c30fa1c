import keras
import numpy as np
import pytest

from keras_encoder.layers import EncoderBlock
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    BATCH,
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    SEQ,
    padding_mask,
    set_sine_weights,
    states,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy

BOTH = pytest.mark.parametrize("norm_first", [False, True])


def block(**arguments):
    layer = EncoderBlock(HEADS, INTERMEDIATE, **arguments)
    layer.build((None, None, HIDDEN))
    return set_sine_weights(layer)


def test_contract():
    check_layer(
        EncoderBlock,
        lambda: dict(
            num_heads=HEADS,
            intermediate_dim=INTERMEDIATE,
            dropout=0.1,
            attention_dropout=0.2,
            activation="relu",
            layer_norm_epsilon=1e-5,
            kernel_initializer="he_normal",
            norm="rms_norm",
        ),
        states(),
        call_arguments={"padding_mask": padding_mask()},
        unmoved=("attention/key/bias",),
    )


@BOTH
@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
@pytest.mark.parametrize(
    ("norm", "activation"), [("layer_norm", "gelu"), ("rms_norm", "geglu")]
)
def test_equals_its_formula(norm_first, epsilon, norm, activation):
    layer = block(
        norm_first=norm_first,
        layer_norm_epsilon=epsilon,
        norm=norm,
        activation=activation,
    )
    expected = numpy_reference.block(
        states(),
        numpy_reference.weights_of(layer),
        HEADS,
        padding_mask(),
        activation,
        epsilon,
        norm_first,
        norm,
    )
    np.testing.assert_allclose(
        to_numpy(layer(states(), padding_mask=padding_mask())),
        expected,
        atol=5e-6,
    )


@BOTH
@pytest.mark.parametrize("training", [False, True])
def test_the_first_token_alone_equals_the_first_of_all(norm_first, training):
    layer = block(norm_first=norm_first)
    mask = padding_mask()
    alone = layer(
        states(), padding_mask=mask, first_token_only=True, training=training
    )
    every = layer(states(), padding_mask=mask, training=training)
    assert alone.shape == (BATCH, 1, HIDDEN)
    np.testing.assert_allclose(
        to_numpy(alone), to_numpy(every)[:, :1], atol=1e-6
    )


def test_symbolic_outputs_state_what_the_call_returns():
    x = keras.Input((SEQ, HIDDEN), batch_size=BATCH)
    output, scores = block()(
        x, first_token_only=True, return_attention_scores=True
    )
    assert output.shape == (BATCH, 1, HIDDEN)
    assert scores.shape == (BATCH, HEADS, 1, SEQ)


def test_attention_scores_are_those_of_the_attention():
    layer = block()
    _, scores = layer(states(), return_attention_scores=True)
    _, expected = layer.attention(states(), return_attention_scores=True)
    np.testing.assert_array_equal(to_numpy(scores), to_numpy(expected))


@pytest.mark.parametrize("name", ["dropout", "attention_dropout"])
def test_each_dropout_acts_in_training_only(name):
    layer = block(**{name: 0.5})
    at_rest = to_numpy(layer(states(), training=False))
    np.testing.assert_array_equal(to_numpy(block()(states())), at_rest)
    assert not np.allclose(to_numpy(layer(states(), training=True)), at_rest)


@pytest.mark.parametrize(
    ("arguments", "received"),
    [
        (dict(num_heads=0), "num_heads=0"),
        (dict(intermediate_dim=0), "intermediate_dim=0"),
        (dict(dropout=1.0), "dropout=1.0"),
        (dict(attention_dropout=-0.1), "attention_dropout=-0.1"),
        (dict(activation="swoosh"), "activation='swoosh'"),
        (dict(norm="batch_norm"), "norm='batch_norm'"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, received):
    with pytest.raises(ValueError, match=f"Received: {received}"):
        EncoderBlock(**{"num_heads": 2, "intermediate_dim": 12, **arguments})
