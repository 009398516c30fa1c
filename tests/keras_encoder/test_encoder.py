import re

import keras
import numpy as np
import pytest

from keras_encoder import Encoder
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    BATCH,
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    LAYERS,
    MAX_SEQ,
    SEQ,
    VOCABULARY,
    encoder_inputs,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy

BOTH = pytest.mark.parametrize("norm_first", [False, True])


def arguments(**changes):
    return {
        **dict(
            vocabulary_size=VOCABULARY,
            num_layers=1,
            num_heads=HEADS,
            hidden_dim=HIDDEN,
            intermediate_dim=INTERMEDIATE,
            max_sequence_length=MAX_SEQ,
        ),
        **changes,
    }


def test_contract():
    check_layer(
        Encoder,
        lambda: arguments(
            dropout=0.2,
            attention_dropout=0.3,
            num_segments=3,
            activation="gelu_tanh",
            layer_norm_epsilon=1e-5,
            norm_first=True,
            positions="relative",
            norm="rms_norm",
        ),
        encoder_inputs(),
        output=lambda outputs: outputs["pooled_output"],
        unmoved=("attention/key/bias",),
    )


@BOTH
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu"])
def test_equals_its_formula(norm_first, activation):
    epsilon, inputs = 1e-5, encoder_inputs()
    encoder = tiny_encoder(
        norm_first=norm_first,
        activation=activation,
        layer_norm_epsilon=epsilon,
    )
    weights = numpy_reference.weights_of(encoder)
    expected = [
        numpy_reference.embeddings(
            inputs["token_ids"],
            inputs["segment_ids"],
            numpy_reference.below(weights, "embeddings"),
            epsilon,
        )
    ]
    for index in range(LAYERS):
        expected.append(
            numpy_reference.block(
                expected[-1],
                numpy_reference.below(weights, f"block_{index}"),
                HEADS,
                inputs["padding_mask"],
                activation,
                epsilon,
                norm_first,
            )
        )
    if norm_first:
        expected[-1] = numpy_reference.layer_norm(
            expected[-1], numpy_reference.below(weights, "final_norm"), epsilon
        )
    pooled = np.tanh(
        numpy_reference.dense(expected[-1][:, 0], weights, "pooler/dense")
    )

    outputs = encoder(inputs)
    for found, array in zip(
        outputs["encoder_outputs"], expected[1:], strict=True
    ):
        np.testing.assert_allclose(to_numpy(found), array, atol=1e-5)
    np.testing.assert_allclose(
        to_numpy(outputs["pooled_output"]), pooled, atol=1e-5
    )


def test_outputs_have_the_promised_names_and_shapes():
    outputs = tiny_encoder()(encoder_inputs(), return_attention_scores=True)
    shapes = keras.tree.map_structure(
        lambda tensor: tuple(tensor.shape), outputs
    )
    state = (BATCH, SEQ, HIDDEN)
    assert shapes == {
        "sequence_output": state,
        "pooled_output": (BATCH, HIDDEN),
        "encoder_outputs": [state] * LAYERS,
        "attention_scores": [(BATCH, HEADS, SEQ, SEQ)] * LAYERS,
    }


def test_no_attention_scores_unless_asked_for():
    assert sorted(tiny_encoder()(encoder_inputs())) == [
        "encoder_outputs",
        "pooled_output",
        "sequence_output",
    ]


def test_attention_scores_of_every_layer_sum_to_1():
    scores = tiny_encoder()(encoder_inputs(), return_attention_scores=True)
    for layer in scores["attention_scores"]:
        np.testing.assert_allclose(to_numpy(layer).sum(-1), 1, atol=1e-6)


@BOTH
def test_the_last_of_the_encoder_outputs_is_the_sequence_output(norm_first):
    outputs = tiny_encoder(norm_first=norm_first)(encoder_inputs())
    np.testing.assert_array_equal(
        to_numpy(outputs["encoder_outputs"][-1]),
        to_numpy(outputs["sequence_output"]),
    )


def test_segments_and_mask_may_be_left_out():
    inputs, encoder = encoder_inputs(), tiny_encoder()
    bare = encoder({"token_ids": inputs["token_ids"]})
    full = encoder(
        {
            "token_ids": inputs["token_ids"],
            "segment_ids": np.zeros_like(inputs["token_ids"]),
            "padding_mask": np.ones_like(inputs["token_ids"]),
        }
    )
    np.testing.assert_allclose(
        to_numpy(bare["pooled_output"]),
        to_numpy(full["pooled_output"]),
        atol=1e-6,
    )


@BOTH
def test_encode_equals_the_call(norm_first):
    encoder, inputs = tiny_encoder(norm_first=norm_first), encoder_inputs()
    states = encoder.encode(encoder.embed(inputs), inputs["padding_mask"])
    np.testing.assert_array_equal(
        to_numpy(states), to_numpy(encoder(inputs)["sequence_output"])
    )


@BOTH
@pytest.mark.parametrize("split", [0, 1, LAYERS])
def test_encode_in_two_parts_equals_the_call(norm_first, split):
    encoder, inputs = tiny_encoder(norm_first=norm_first), encoder_inputs()
    mask = inputs["padding_mask"]
    states = encoder.encode(encoder.embed(inputs), mask, stop=split)
    states = encoder.encode(states, mask, start=split)
    np.testing.assert_array_equal(
        to_numpy(states), to_numpy(encoder(inputs)["sequence_output"])
    )


@BOTH
@pytest.mark.parametrize("training", [False, True])
def test_encode_of_the_first_token_equals_the_first_of_all(
    norm_first, training
):
    encoder, inputs = tiny_encoder(norm_first=norm_first), encoder_inputs()
    mask = inputs["padding_mask"]
    states = encoder.embed(inputs)
    alone = encoder.encode(
        states, mask, first_token_only=True, training=training
    )
    every = encoder.encode(states, mask, training=training)
    assert alone.shape == (BATCH, 1, HIDDEN)
    np.testing.assert_allclose(
        to_numpy(alone), to_numpy(every)[:, :1], atol=1e-6
    )


def test_dropout_acts_in_training_only():
    encoder = tiny_encoder(dropout=0.5, attention_dropout=0.5)
    at_rest = to_numpy(encoder(encoder_inputs())["sequence_output"])
    np.testing.assert_array_equal(
        to_numpy(tiny_encoder()(encoder_inputs())["sequence_output"]), at_rest
    )
    training = encoder(encoder_inputs(), training=True)["sequence_output"]
    assert not np.allclose(to_numpy(training), at_rest)


def test_a_frozen_encoder_runs_in_inference_mode():
    encoder = tiny_encoder(dropout=0.5, attention_dropout=0.5)
    at_rest = to_numpy(encoder(encoder_inputs())["sequence_output"])
    encoder.trainable = False
    frozen = encoder(encoder_inputs(), training=True)["sequence_output"]
    np.testing.assert_array_equal(to_numpy(frozen), at_rest)


def test_frozen_blocks_run_in_inference_mode_below_a_training_one():
    encoder = tiny_encoder(dropout=0.5, attention_dropout=0.5)
    at_rest = encoder(encoder_inputs())["encoder_outputs"]
    encoder.embeddings.trainable = False
    encoder.blocks[0].trainable = False
    states = encoder(encoder_inputs(), training=True)["encoder_outputs"]
    np.testing.assert_array_equal(to_numpy(states[0]), to_numpy(at_rest[0]))
    assert not np.allclose(to_numpy(states[1]), to_numpy(at_rest[1]))


def test_an_input_longer_than_the_positions_is_refused():
    tokens = np.zeros((1, MAX_SEQ + 1), "int32")
    with pytest.raises(ValueError, match="max_sequence_length=11 tokens"):
        tiny_encoder()({"token_ids": tokens})


@pytest.mark.parametrize(
    ("inputs", "received"),
    [
        (np.zeros((2, 3), "int32"), "Received: "),
        ({"input_ids": np.zeros((2, 3), "int32")}, r"Received: \['input_ids"),
    ],
)
def test_inputs_without_token_ids_are_refused(inputs, received):
    with pytest.raises(ValueError, match="dict with `token_ids`") as raised:
        tiny_encoder()(inputs)
    assert re.search(received, str(raised.value))


def test_weights_exist_before_the_first_call():
    assert Encoder(**arguments()).count_params() > 0


def test_initial_values_are_those_of_bert():
    encoder = Encoder(
        **arguments(vocabulary_size=500, hidden_dim=40, intermediate_dim=160)
    )
    for variable in encoder.weights:
        values = variable.numpy()
        if variable.name in ("kernel", "embeddings"):
            if values.size < 1000:
                continue
            # A normal distribution cut at two deviations. Keras cuts almost
            # all draws on PyTorch; without a cut 4.6 % lie outside.
            assert 0.016 < values.std() < 0.02, variable.path
            assert (np.abs(values) > 0.04).mean() < 0.001, variable.path
        else:
            expected = 1.0 if variable.name == "gamma" else 0.0
            np.testing.assert_array_equal(values, expected)


def test_no_two_kernels_start_alike():
    tables = [
        variable.numpy()
        for variable in Encoder(**arguments()).weights
        if variable.name in ("kernel", "embeddings")
    ]
    for index, table in enumerate(tables):
        for other in tables[:index]:
            assert table.shape != other.shape or not np.allclose(table, other)


@pytest.mark.parametrize(
    ("changes", "received"),
    [
        (dict(hidden_dim=30, num_heads=4), "hidden_dim=30, num_heads=4"),
        (dict(hidden_dim=4, num_heads=8), "hidden_dim=4, num_heads=8"),
        (dict(num_heads=0), "num_heads=0"),
        (dict(num_heads=-2), "num_heads=-2"),
        (dict(num_layers=0), "num_layers=0"),
        (dict(hidden_dim=0), "hidden_dim=0"),
        (dict(intermediate_dim=0), "intermediate_dim=0"),
        (dict(vocabulary_size=-1), "vocabulary_size=-1"),
        (dict(max_sequence_length=0), "max_sequence_length=0"),
        (dict(num_segments=0), "num_segments=0"),
        (dict(dropout=1.0), "dropout=1.0"),
        (dict(attention_dropout=1.0), "attention_dropout=1.0"),
        (dict(layer_norm_epsilon=-1e-5), "layer_norm_epsilon=-1e-05"),
        (dict(layer_norm_epsilon="1"), "layer_norm_epsilon='1'"),
        (dict(activation="swoosh"), "activation='swoosh'"),
        (dict(positions="spiral"), "positions='spiral'"),
        (dict(norm="batch_norm"), "norm='batch_norm'"),
        (
            dict(positions="rotary", hidden_dim=6, num_heads=2),
            "hidden_dim=6, num_heads=2",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(changes, received):
    with pytest.raises(ValueError, match=re.escape(f"Received: {received}")):
        Encoder(**arguments(**changes))


def test_a_policy_given_to_the_encoder_reaches_every_layer():
    encoder = Encoder(**arguments(dtype="mixed_bfloat16"))
    policies = {layer.dtype_policy.name for layer in encoder._flatten_layers()}
    assert policies == {"mixed_bfloat16"}


def test_segments_are_counted():
    encoder = tiny_encoder(num_segments=3)
    inputs = encoder_inputs()
    inputs["segment_ids"][:] = 2
    changed = encoder(inputs)["pooled_output"]
    inputs["segment_ids"][:] = 1
    assert not np.allclose(
        to_numpy(changed), to_numpy(encoder(inputs)["pooled_output"])
    )
