"""What stands under the mask has no effect, whatever the backend."""

import keras
import numpy as np
import pytest

from keras_encoder.heads import SequenceClassifier
from tests.keras_encoder.fixed_weights import (
    VOCABULARY,
    encoder_inputs,
    set_sine_weights,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import policy, to_numpy
from tests.keras_encoder.training_step import gradients_of

IDS = np.array([[3, 17, 5]])
LONGEST = 40


def run(encoder, token_ids, mask, segment_ids=None):
    inputs = {
        "token_ids": token_ids.astype("int32"),
        "padding_mask": mask.astype("int32"),
    }
    if segment_ids is not None:
        inputs["segment_ids"] = segment_ids.astype("int32")
    return to_numpy(encoder(inputs)["sequence_output"])


def padded(ids, length, fill=0):
    """A row of ids and its mask, padded to a length."""
    tokens = np.full((1, length), fill)
    tokens[:, : ids.shape[1]] = ids
    return tokens, np.arange(length)[None] < ids.shape[1]


@pytest.fixture
def encoder():
    return tiny_encoder(num_layers=1, max_sequence_length=LONGEST)


@pytest.mark.parametrize("length", [9, LONGEST])
def test_the_length_of_the_padding_has_no_effect(encoder, length):
    alone = run(encoder, IDS, np.ones_like(IDS))
    together = run(encoder, *padded(IDS, length))
    np.testing.assert_allclose(together[:, :3], alone, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_padding_to_512_has_no_effect(dtype):
    """In half precision too, where a masked score must still count nothing."""
    with policy(dtype):
        encoder = tiny_encoder(num_layers=1, max_sequence_length=512)
        alone = run(encoder, IDS, np.ones_like(IDS))
        together = run(encoder, *padded(IDS, 512, fill=7))
    tolerance = 1e-5 if dtype == "float32" else 0.03
    np.testing.assert_allclose(together[:, :3], alone, atol=tolerance)


def test_neighbours_have_no_effect(encoder):
    alone = run(encoder, IDS, np.ones_like(IDS))
    tokens, mask = padded(IDS, 9)
    other = np.arange(9)[None] % VOCABULARY
    together = run(
        encoder,
        np.concatenate([other, tokens]),
        np.concatenate([np.ones_like(other), mask]),
    )
    np.testing.assert_allclose(together[1:, :3], alone, atol=1e-5)


def test_ids_and_segments_under_the_mask_have_no_effect(encoder):
    tokens, mask = padded(IDS, 9)
    junk = np.where(mask, tokens, np.arange(9) + 12)
    clean = run(encoder, tokens, mask)
    np.testing.assert_allclose(
        run(encoder, junk, mask, segment_ids=~mask)[:, :3],
        clean[:, :3],
        atol=1e-6,
    )


def test_padding_may_stand_on_the_left(encoder):
    # The mask says which keys are real, not how many.
    tokens, mask = padded(IDS, 9)
    first = run(encoder, tokens[:, ::-1], mask[:, ::-1])
    junk = np.where(mask, tokens, 9)[:, ::-1]
    second = run(encoder, junk, mask[:, ::-1])
    np.testing.assert_allclose(second[:, 6:], first[:, 6:], atol=1e-6)


def test_a_padding_id_is_padding_only_under_the_mask(encoder):
    # Id 0 is a word like any other where the mask says so.
    tokens = np.array([[3, 0, 5]])
    real = run(encoder, tokens, np.ones_like(tokens))
    masked = run(encoder, tokens, np.array([[1, 0, 1]]))
    assert np.abs(real[0, 0] - masked[0, 0]).max() > 1e-3


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 1e-6), ("mixed_bfloat16", 0.05), ("mixed_float16", 0.01)],
)
def test_a_fully_masked_row_is_finite_and_changes_no_other(dtype, tolerance):
    inputs = encoder_inputs()
    empty = {**inputs, "padding_mask": inputs["padding_mask"].copy()}
    empty["padding_mask"][1] = 0
    with policy(dtype):
        encoder = tiny_encoder(num_layers=1)
    usual, outputs = encoder(inputs), encoder(empty)
    for name in ("sequence_output", "pooled_output"):
        found, expected = to_numpy(outputs[name]), to_numpy(usual[name])
        assert np.isfinite(found).all()
        np.testing.assert_allclose(
            found[[0, 2]], expected[[0, 2]], atol=tolerance
        )


@pytest.mark.parametrize(
    ("dtype", "dropout"),
    [
        ("float32", 0.3),
        ("mixed_bfloat16", 0.0),
        ("mixed_float16", 0.0),
    ],
)
def test_a_fully_masked_row_has_finite_gradients(dtype, dropout):
    inputs = encoder_inputs()
    inputs["padding_mask"][1] = 0
    with policy(dtype):
        model = SequenceClassifier(
            tiny_encoder(
                num_layers=1, dropout=dropout, attention_dropout=dropout
            ),
            4,
        )
    set_sine_weights(model)
    for path, gradient in gradients_of(model, inputs, np.array([0, 1, 2])):
        assert np.isfinite(gradient).all(), path


def test_a_fully_masked_row_without_weight_leaves_the_gradients_as_they_are():
    inputs, labels = encoder_inputs(), np.array([0, 1, 2])
    model = SequenceClassifier(tiny_encoder(num_layers=1), 4, dropout=0.0)
    set_sine_weights(model)
    weight = np.array([1.0, 0.0, 1.0], "float32")
    expected = gradients_of(model, inputs, labels, weight)
    inputs["padding_mask"][1] = 0
    for (path, found), (_, wanted) in zip(
        gradients_of(model, inputs, labels, weight), expected, strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-6, err_msg=path)


def test_a_batch_of_fully_masked_rows_trains():
    inputs = encoder_inputs()
    inputs["padding_mask"][:] = 0
    model = set_sine_weights(SequenceClassifier(tiny_encoder(num_layers=1), 4))
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    history = model.fit(inputs, np.array([0, 1, 2]), verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    for variable in model.weights:
        assert np.isfinite(variable.numpy()).all(), variable.path
