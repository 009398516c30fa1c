import numpy as np
from keras import ops

from keras_encoder.heads import MaskedLM, NextSentence, Pretraining
from tests.keras_encoder.fixed_weights import (
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy

INPUTS = {
    **encoder_inputs(),
    "masked_positions": np.array([[1, 4], [2, 0], [1, 1]], "int32"),
}


def both(outputs):
    """One number for each masked position, of all logits."""
    follows = ops.sum(outputs["next_sentence"], axis=-1, keepdims=True)
    return ops.sum(outputs["masked_lm"], axis=-1) + follows


def test_contract():
    check_layer(
        Pretraining,
        lambda: dict(encoder=tiny_encoder(num_layers=1)),
        INPUTS,
        output=both,
        mixed_dtype="float32",
        unmoved=("attention/key/bias",),
    )


def test_it_is_both_heads_on_one_encoder():
    model = set_sine_weights(Pretraining(tiny_encoder()))
    words, pairs = MaskedLM(model.encoder), NextSentence(model.encoder)
    words.predictions.set_weights(model.predictions.get_weights())
    pairs.logits.set_weights(model.next_sentence.get_weights())
    outputs = model(INPUTS)
    for name, alone in (("masked_lm", words), ("next_sentence", pairs)):
        np.testing.assert_allclose(
            to_numpy(outputs[name]), to_numpy(alone(INPUTS)), atol=1e-6
        )
