import numpy as np

from keras_encoder.heads import NextSentence
from tests.keras_encoder.fixed_weights import (
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def test_contract():
    check_layer(
        NextSentence,
        lambda: dict(encoder=tiny_encoder(num_layers=1)),
        encoder_inputs(),
        mixed_dtype="float32",
        unmoved=("attention/key/bias",),
    )


def test_logits_are_a_dense_layer_on_the_pooled_output():
    model = set_sine_weights(NextSentence(tiny_encoder()))
    kernel, bias = (w.numpy() for w in model.logits.weights)
    pooled = to_numpy(model.encoder(encoder_inputs())["pooled_output"])
    np.testing.assert_allclose(
        to_numpy(model(encoder_inputs())), pooled @ kernel + bias, atol=1e-5
    )
