import numpy as np
import pytest

from keras_encoder.heads import SequenceClassifier, TokenTagger
from keras_encoder.layers.crf import CRF
from tests.keras_encoder.fixed_weights import (
    BATCH,
    SEQ,
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy

CLASSES = 4
HEADS = pytest.mark.parametrize("cls", [SequenceClassifier, TokenTagger])


def head(cls, dropout=0.0, **encoder):
    return set_sine_weights(cls(tiny_encoder(**encoder), CLASSES, dropout))


@HEADS
def test_contract(cls):
    check_layer(
        cls,
        lambda: dict(
            encoder=tiny_encoder(num_layers=1),
            num_classes=CLASSES,
            dropout=0.2,
        ),
        encoder_inputs(),
        # The logits stay in float32, for the loss.
        mixed_dtype="float32",
        unmoved=("attention/key/bias",),
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_classifier_logits_are_a_dense_layer_on_the_pooled_output(norm_first):
    model = head(SequenceClassifier, norm_first=norm_first)
    kernel, bias = (w.numpy() for w in model.logits.weights)
    pooled = to_numpy(model.encoder(encoder_inputs())["pooled_output"])
    np.testing.assert_allclose(
        to_numpy(model(encoder_inputs())), pooled @ kernel + bias, atol=1e-5
    )


def test_tagger_logits_are_a_dense_layer_on_the_sequence_output():
    model = head(TokenTagger)
    kernel, bias = (w.numpy() for w in model.logits.weights)
    states = to_numpy(model.encoder(encoder_inputs())["sequence_output"])
    np.testing.assert_allclose(
        to_numpy(model(encoder_inputs())), states @ kernel + bias, atol=1e-5
    )


@pytest.mark.parametrize(
    ("cls", "shape"),
    [
        (SequenceClassifier, (BATCH, CLASSES)),
        (TokenTagger, (BATCH, SEQ, CLASSES)),
    ],
)
def test_logits_have_the_promised_shape(cls, shape):
    assert head(cls)(encoder_inputs()).shape == shape


@HEADS
def test_dropout_acts_in_training_only(cls):
    model = head(cls, dropout=0.5)
    at_rest = to_numpy(model(encoder_inputs(), training=False))
    without = to_numpy(head(cls)(encoder_inputs()))
    np.testing.assert_array_equal(without, at_rest)
    training = to_numpy(model(encoder_inputs(), training=True))
    assert not np.allclose(training, at_rest)


@HEADS
def test_a_frozen_encoder_runs_in_inference_mode(cls):
    model = head(cls, attention_dropout=0.5)
    at_rest = to_numpy(model(encoder_inputs()))
    model.encoder.trainable = False
    np.testing.assert_array_equal(
        to_numpy(model(encoder_inputs(), training=True)), at_rest
    )


@HEADS
def test_the_head_alone_equals_the_whole_on_stored_states(cls):
    model, inputs = head(cls), encoder_inputs()
    states = model.encoder(inputs)["sequence_output"]
    np.testing.assert_allclose(
        to_numpy(model.head(states)), to_numpy(model(inputs)), atol=1e-6
    )


@HEADS
@pytest.mark.parametrize(
    ("changes", "received"),
    [(dict(num_classes=0), "num_classes=0"), (dict(dropout=1), "dropout=1")],
)
def test_arguments_out_of_range_are_refused(cls, changes, received):
    with pytest.raises(ValueError, match=f"Received: {received}"):
        cls(tiny_encoder(), **{"num_classes": CLASSES, **changes})


def test_a_tagger_trains_no_pooler():
    model = head(TokenTagger)
    paths = [variable.path for variable in model.trainable_variables]
    assert not [path for path in paths if "pooler" in path]
    assert len(paths) == len(model.weights) - 2


def test_the_crf_of_a_tagger_has_its_tags():
    with pytest.raises(ValueError, match="`crf` must have 4 tags.*num_tags=3"):
        TokenTagger(tiny_encoder(), 4, crf=CRF(3))
