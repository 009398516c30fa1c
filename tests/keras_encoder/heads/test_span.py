import numpy as np

from keras_encoder.heads import Span
from tests.keras_encoder.fixed_weights import (
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def test_contract():
    check_layer(
        Span,
        lambda: dict(encoder=tiny_encoder(num_layers=1)),
        # Without padding, whose logits no training step should meet.
        {**encoder_inputs(), "padding_mask": np.ones((3, 5), "int32")},
        output=lambda outputs: outputs["start_logits"],
        mixed_dtype="float32",
        unmoved=("attention/key/bias",),
    )


def test_logits_are_a_dense_layer_and_padding_never_wins():
    model = set_sine_weights(Span(tiny_encoder()))
    kernel, bias = (w.numpy() for w in model.logits.weights)
    bias = bias - 50  # every real logit is far below 0
    model.logits.set_weights([kernel, bias])
    inputs = encoder_inputs()
    real = inputs["padding_mask"] == 1
    assert not real.all()
    states = to_numpy(model.encoder(inputs)["sequence_output"])
    expected = states @ kernel + bias
    outputs = model(inputs)
    for column, name in enumerate(("start_logits", "end_logits")):
        logits = to_numpy(outputs[name])
        np.testing.assert_allclose(
            logits[real], expected[..., column][real], atol=1e-5
        )
        assert real[np.arange(len(real)), logits.argmax(-1)].all()
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        assert (shares[~real] == 0).all()


def test_without_a_mask_every_token_counts():
    model = set_sine_weights(Span(tiny_encoder()))
    token_ids = encoder_inputs()["token_ids"]
    full = {"token_ids": token_ids, "padding_mask": np.ones_like(token_ids)}
    np.testing.assert_allclose(
        to_numpy(model({"token_ids": token_ids})["end_logits"]),
        to_numpy(model(full)["end_logits"]),
        atol=1e-6,
    )
