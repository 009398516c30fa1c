"""A block that is computed twice gives the gradient of the one computed once.

With dropout, that is only so if both calls draw the same random numbers.
"""

import random

import keras
import numpy as np
import pytest

from keras_encoder.heads import TokenTagger
from tests.keras_encoder.fixed_weights import (
    LAYERS,
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import policy
from tests.keras_encoder.training_step import gradients_of


def tagger(recompute, **arguments):
    random.seed(5)  # Keras draws the seeds of dropout from here
    encoder = tiny_encoder(dropout=0.3, attention_dropout=0.3, **arguments)
    encoder.recompute = recompute
    model = TokenTagger(encoder, num_classes=3, dropout=0.0)
    set_sine_weights(model)
    return model


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("float32", {"positions": "relative"}),
        ("float32", {"positions": "rotary", "norm_first": True}),
        ("mixed_bfloat16", {}),
    ],
)
def test_gradients_are_the_same(name, arguments):
    inputs = encoder_inputs(seq=9)
    labels = inputs["token_ids"] % 3
    with policy(name):
        once = gradients_of(tagger(False, **arguments), inputs, labels)
        twice = gradients_of(tagger(True, **arguments), inputs, labels)
    # Other dropout would change gradients by as much as they are.
    tolerance = 1e-4 if name == "float32" else 0.1
    for (path, expected), (_, found) in zip(once, twice, strict=True):
        scale = np.abs(expected).max() + 1e-6
        if "attention/key/bias" in path:  # 0 but for rounding
            scale = 1.0
        np.testing.assert_allclose(
            found / scale, expected / scale, atol=tolerance, err_msg=path
        )
    assert max(np.abs(gradient).max() for _, gradient in once) > 1e-3


def test_blocks_that_train_are_computed_twice_and_no_others(monkeypatch):
    twice = []

    def counted(function):
        twice.append(function)
        return remat(function)

    remat = keras.remat
    monkeypatch.setattr(keras, "remat", counted)
    inputs = encoder_inputs(seq=9)
    model = tagger(True)
    model(inputs, training=False)
    assert not twice
    model.encoder.blocks[0].trainable = False
    model(inputs, training=True)
    assert len(twice) == LAYERS - 1


def test_dropout_goes_on_as_if_computed_once():
    # What matters is the state of its generators after two steps.
    inputs = encoder_inputs(seq=9)
    states = []
    for recompute in (False, True):
        model = tagger(recompute)
        for _ in range(2):
            gradients_of(model, inputs, inputs["token_ids"] % 3)
        states.append([v.numpy() for v in model.non_trainable_variables])
    np.testing.assert_equal(*states)
    assert len(states[0])
