import math

import numpy as np
import pytest

from keras_encoder.heads import MaskedLM
from tests.keras_encoder.fixed_weights import (
    BATCH,
    SEQ,
    VOCABULARY,
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy

POSITIONS = np.array([[1, 4], [2, 0], [1, 1]], "int32")


def masked_lm(**changes):
    return set_sine_weights(MaskedLM(tiny_encoder(**changes)))


@pytest.mark.parametrize("gathered", [False, True])
def test_contract(gathered):
    inputs = encoder_inputs()
    if gathered:
        inputs["masked_positions"] = POSITIONS
    check_layer(
        MaskedLM,
        lambda: dict(encoder=tiny_encoder(num_layers=1)),
        inputs,
        mixed_dtype="float32",
        unmoved=("attention/key/bias",),
    )


@pytest.mark.parametrize(
    ("activation", "gelu"),
    [
        ("relu", lambda x: np.maximum(x, 0)),
        ("gelu", lambda x: x * (1 + np.vectorize(math.erf)(x / 2**0.5)) / 2),
    ],
)
def test_logits_equal_the_formula(activation, gelu):
    model = masked_lm(activation=activation, layer_norm_epsilon=0.1)
    states = to_numpy(model.encoder(encoder_inputs())["sequence_output"])
    head = model.predictions
    kernel, bias = (w.numpy() for w in head.transform.weights)
    x = gelu(states @ kernel + bias)
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.1)
    x = x * head.norm.gamma.numpy() + head.norm.beta.numpy()
    table = model.encoder.embeddings.token_embedding.embeddings.numpy()
    np.testing.assert_allclose(
        to_numpy(model(encoder_inputs())),
        x @ table.T + head.bias.numpy(),
        atol=1e-5,
    )


def test_gathered_logits_are_those_of_the_positions():
    model = masked_lm()
    everywhere = to_numpy(model(encoder_inputs()))
    assert everywhere.shape == (BATCH, SEQ, VOCABULARY)
    gathered = to_numpy(
        model({**encoder_inputs(), "masked_positions": POSITIONS})
    )
    expected = np.take_along_axis(everywhere, POSITIONS[..., None], axis=1)
    np.testing.assert_allclose(gathered, expected, atol=1e-6)


def test_the_decoder_has_no_matrix_of_its_own():
    model = masked_lm()
    own = len(model.weights) - len(model.encoder.weights)
    assert own == 5  # transform and norm, and one bias a token
    assert sum(w.shape == (VOCABULARY, 8) for w in model.weights) == 1


def test_it_trains_no_pooler():
    paths = [v.path for v in masked_lm().trainable_variables]
    assert not [path for path in paths if "pooler" in path]
