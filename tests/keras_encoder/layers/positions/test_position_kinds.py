"""What every kind of positions does in an encoder; new kinds come by name."""

import inspect
import math

import numpy as np
import pytest

from keras_encoder import Encoder
from keras_encoder.layers.positions import POSITIONS
from tests.keras_encoder.fixed_weights import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    MAX_SEQ,
    SEQ,
    VOCABULARY,
    encoder_inputs,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, policy, to_numpy

EVERY = pytest.mark.parametrize("positions", [*POSITIONS, None])
TESTED = ("learned", "relative")
KINDS = pytest.mark.parametrize("positions", list(POSITIONS))


def sequence_output(encoder, inputs):
    return to_numpy(encoder(inputs)["sequence_output"])


def permuted(inputs, order):
    return {name: array[:, order] for name, array in inputs.items()}


# Of the others, the tests of the encoder itself say it.
@pytest.mark.parametrize(
    "positions", [kind for kind in POSITIONS if kind not in TESTED]
)
def test_an_encoder_keeps_the_contract_of_layers(positions):
    check_layer(
        Encoder,
        lambda: dict(
            vocabulary_size=VOCABULARY,
            num_layers=1,
            num_heads=HEADS,
            hidden_dim=HIDDEN,
            intermediate_dim=INTERMEDIATE,
            max_sequence_length=MAX_SEQ,
            positions=positions,
        ),
        encoder_inputs(),
        output=lambda outputs: outputs["pooled_output"],
        unmoved=("attention/key/bias",),
    )


def test_without_positions_a_permutation_of_tokens_permutes_the_states():
    encoder, inputs = tiny_encoder(positions=None), encoder_inputs()
    order = [3, 0, 4, 1, 2]
    np.testing.assert_allclose(
        sequence_output(encoder, permuted(inputs, order)),
        sequence_output(encoder, inputs)[:, order],
        atol=1e-5,
    )


@KINDS
def test_with_positions_it_does_not(positions):
    encoder, inputs = tiny_encoder(positions=positions), encoder_inputs()
    order = [3, 0, 4, 1, 2]
    moved = sequence_output(encoder, permuted(inputs, order))
    difference = moved - sequence_output(encoder, inputs)[:, order]
    assert np.abs(difference[0]).max() > 0.01


@EVERY
@pytest.mark.parametrize("training", [False, True])
def test_the_first_token_alone_equals_the_first_of_all(positions, training):
    encoder, inputs = tiny_encoder(positions=positions), encoder_inputs()
    states = encoder.embed(inputs)
    alone, every = (
        encoder.encode(
            states,
            inputs["padding_mask"],
            first_token_only=first,
            training=training,
        )
        for first in (True, False)
    )
    np.testing.assert_allclose(
        to_numpy(alone), to_numpy(every)[:, :1], atol=1e-6
    )


@EVERY
def test_encode_in_two_parts_equals_the_call(positions):
    encoder, inputs = tiny_encoder(positions=positions), encoder_inputs()
    mask = inputs["padding_mask"]
    states = encoder.encode(encoder.embed(inputs), mask, stop=1)
    states = encoder.encode(states, mask, start=1)
    np.testing.assert_allclose(
        to_numpy(states), sequence_output(encoder, inputs), atol=1e-6
    )


@EVERY
def test_the_length_of_the_padding_has_no_effect(positions):
    encoder, inputs = tiny_encoder(positions=positions), encoder_inputs()
    longer = {
        name: np.pad(array, ((0, 0), (0, MAX_SEQ - SEQ)))
        for name, array in inputs.items()
    }
    real = inputs["padding_mask"] != 0
    np.testing.assert_allclose(
        sequence_output(encoder, longer)[:, :SEQ][real],
        sequence_output(encoder, inputs)[real],
        atol=1e-5,
    )


@EVERY
def test_only_a_learned_table_has_an_end(positions):
    encoder, inputs = tiny_encoder(positions=positions), encoder_inputs(1, 30)
    if positions == "learned":
        assert encoder.longest_input == MAX_SEQ
        with pytest.raises(ValueError, match="max_sequence_length=11 tokens"):
            encoder(inputs)
    else:
        assert encoder.longest_input == math.inf
        assert np.isfinite(sequence_output(encoder, inputs)).all()


@EVERY
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("mixed_bfloat16", 0.1), ("mixed_float16", 0.02)]
)
def test_half_precision_is_near_float32(positions, dtype, tolerance):
    inputs = encoder_inputs(2, MAX_SEQ)
    expected = sequence_output(tiny_encoder(positions=positions), inputs)
    with policy(dtype):
        encoder = tiny_encoder(positions=positions)
    found = sequence_output(encoder, inputs)
    np.testing.assert_allclose(found, expected, atol=tolerance)


@EVERY
def test_attention_scores_sum_to_1(positions):
    encoder, inputs = tiny_encoder(positions=positions), encoder_inputs()
    outputs = encoder(inputs, return_attention_scores=True)
    for scores in outputs["attention_scores"]:
        np.testing.assert_allclose(to_numpy(scores).sum(-1), 1, atol=1e-6)


@KINDS
def test_each_kind_has_the_four_things_of_the_contract(positions):
    cls = POSITIONS[positions]
    parameters = list(inspect.signature(cls.for_encoder).parameters)
    assert parameters[:3] == [
        "max_sequence_length",
        "num_heads",
        "embeddings_initializer",
    ]
    for name in ("call", "attention_arguments", "longest_input"):
        assert hasattr(cls, name)


@pytest.mark.parametrize("positions", ["absolute", "Rotary", True, ["rotary"]])
def test_an_unknown_kind_is_refused(positions):
    with pytest.raises(ValueError, match="`positions` must be None or one of"):
        tiny_encoder(positions=positions)
