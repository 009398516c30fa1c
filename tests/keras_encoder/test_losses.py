"""Each loss equals its formula, over what counts and nothing else."""

import itertools

import keras
import numpy as np
import pytest

from keras_encoder.layers.crf import CRF
from keras_encoder.losses import CrfLoss, SmoothCrossentropy
from tests.keras_encoder.fixed_weights import set_sine_weights, sine

BATCH, SEQ, CLASSES = 3, 5, 4
LOGITS = sine((BATCH, SEQ, CLASSES), 0.4, 2.0)
TARGETS = np.arange(BATCH * SEQ).reshape(BATCH, SEQ) % CLASSES
# Words of two weights, and tokens that do not count.
WEIGHTS = np.array(
    [[1, 0, 2, 1, 0], [0, 0, 0, 0, 0], [3, 1, 0, 0, 1]], "float32"
)


def by_formula(logits, targets, weights, smoothing, focal):
    logits = logits.astype("float64")
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    right = np.take_along_axis(log_probs, targets[..., None], -1)[..., 0]
    hard = np.eye(logits.shape[-1])[targets]
    soft = (1 - smoothing) * hard + smoothing / logits.shape[-1]
    loss = -(soft * log_probs).sum(-1) * (1 - np.exp(right)) ** focal
    return (loss * weights).sum() / weights.sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("focal", [0.0, 0.5, 2.0])
def test_equals_the_formula_for_words(smoothing, focal):
    loss = SmoothCrossentropy(smoothing, focal)
    found = float(loss(TARGETS, LOGITS, WEIGHTS))
    expected = by_formula(LOGITS, TARGETS, WEIGHTS, smoothing, focal)
    assert found == pytest.approx(expected, rel=1e-5)


def test_equals_the_formula_for_texts():
    loss = SmoothCrossentropy(0.1, 1.0)
    found = float(loss(TARGETS[:, 0], LOGITS[:, 0], WEIGHTS[:, 0]))
    expected = by_formula(LOGITS[:, 0], TARGETS[:, 0], WEIGHTS[:, 0], 0.1, 1.0)
    assert found == pytest.approx(expected, rel=1e-5)


def test_equals_keras_without_smoothing_and_focus():
    keras_loss = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    )
    assert float(SmoothCrossentropy()(TARGETS, LOGITS, WEIGHTS)) == (
        pytest.approx(float(keras_loss(TARGETS, LOGITS, WEIGHTS)), rel=1e-5)
    )


def test_a_class_weight_acts_on_each_word_of_the_class():
    """Weight 3 is as if the word stood there three times."""
    weights = np.where(TARGETS == 2, 3.0, 1.0)
    again = np.repeat(np.arange(TARGETS.size), weights.astype(int).ravel())
    flat = LOGITS.reshape(-1, CLASSES)[again], TARGETS.ravel()[again]
    loss = SmoothCrossentropy()
    assert float(loss(TARGETS, LOGITS, weights)) == pytest.approx(
        float(loss(flat[1], flat[0], np.ones(len(again)))), rel=1e-5
    )


@pytest.mark.parametrize("focal", [0.0, 2.0])
def test_extra_padding_changes_nothing(focal):
    loss = SmoothCrossentropy(0.1, focal)
    pad = [(0, 2), (0, 4)]
    logits = np.pad(LOGITS, [*pad, (0, 0)], constant_values=9.0)
    padded = loss(np.pad(TARGETS, pad), logits, np.pad(WEIGHTS, pad))
    assert float(padded) == pytest.approx(
        float(loss(TARGETS, LOGITS, WEIGHTS)), rel=1e-6
    )


def test_is_0_where_nothing_counts():
    loss = SmoothCrossentropy(0.1, 2.0)
    assert float(loss(TARGETS, LOGITS, np.zeros_like(WEIGHTS))) == 0.0


@pytest.mark.parametrize("focal", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("counts", [0.0, 1.0])
def test_training_survives_complete_certainty(focal, counts):
    """A probability of exactly 1, on a word that counts or on another."""
    dense = keras.layers.Dense(CLASSES)
    model = keras.Sequential([dense])
    model.compile(
        optimizer=keras.optimizers.SGD(0.1),
        loss=SmoothCrossentropy(0.0, focal),
    )
    inputs = np.eye(CLASSES, dtype="float32")[None]
    model.build(inputs.shape)
    dense.set_weights([200 * np.eye(CLASSES), np.zeros(CLASSES)])
    weights = np.full((1, CLASSES), counts, "float32")
    weights[0, 0] = 1.0
    loss = model.train_on_batch(
        inputs, np.arange(CLASSES)[None], sample_weight=weights
    )
    assert np.isfinite(float(loss))
    for array in dense.get_weights():
        assert np.isfinite(array).all()


def test_computes_half_precision_logits_in_float32():
    logits = keras.ops.cast(LOGITS, "bfloat16")
    rounded = keras.ops.convert_to_numpy(keras.ops.cast(logits, "float32"))
    loss = SmoothCrossentropy(0.1)
    found = loss(TARGETS, logits, WEIGHTS)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    assert float(found) == pytest.approx(
        by_formula(rounded, TARGETS, WEIGHTS, 0.1, 0.0), rel=1e-5
    )


def test_config_makes_an_equal_loss():
    loss = SmoothCrossentropy(0.1, 2.0, name="mine")
    config = keras.saving.serialize_keras_object(loss)
    copy = keras.saving.deserialize_keras_object(config)
    assert copy.get_config() == loss.get_config()
    assert (copy.label_smoothing, copy.focal) == (0.1, 2.0)


def value(loss):
    """PyTorch makes no float of a tensor that has a gradient."""
    return float(keras.ops.convert_to_numpy(loss))


def made_crf():
    crf = CRF(CLASSES)
    crf.build((None, None, CLASSES))
    return set_sine_weights(crf)


def negative_log_probability(crf, logits, tags):
    """Of the tags of one sentence, among all that there are."""
    transitions, start, end = (w.astype("float64") for w in crf.get_weights())
    scores = {
        path: start[path[0]]
        + logits[np.arange(len(path)), path].sum(dtype="float64")
        + sum(transitions[step] for step in itertools.pairwise(path))
        + end[path[-1]]
        for path in itertools.product(range(CLASSES), repeat=len(tags))
    }
    return np.log(np.exp(list(scores.values())).sum()) - scores[tuple(tags)]


def test_crf_loss_is_a_mean_over_the_counted_words():
    """The chain runs over them alone: what lies between is not there."""
    crf = made_crf()
    total = sum(
        negative_log_probability(crf, logits[keep], tags[keep])
        for logits, tags, keep in zip(LOGITS, TARGETS, WEIGHTS > 0, strict=True)
        if keep.any()
    )
    found = value(CrfLoss(crf)(TARGETS, LOGITS, WEIGHTS))
    assert found == pytest.approx(total / (WEIGHTS > 0).sum(), rel=1e-5)


def test_crf_loss_counts_all_positions_without_weights():
    loss = CrfLoss(made_crf())
    assert value(loss(TARGETS, LOGITS)) == pytest.approx(
        value(loss(TARGETS, LOGITS, np.ones_like(WEIGHTS))), rel=1e-6
    )


def test_crf_loss_is_cross_entropy_where_no_transition_is_learnt():
    crf = CRF(CLASSES)
    crf.build((None, None, CLASSES))
    counted = (WEIGHTS > 0).astype("float32")
    assert value(CrfLoss(crf)(TARGETS, LOGITS, WEIGHTS)) == pytest.approx(
        float(SmoothCrossentropy()(TARGETS, LOGITS, counted)), rel=1e-5
    )


def test_crf_loss_ignores_extra_padding_and_is_0_where_nothing_counts():
    loss = CrfLoss(made_crf())
    pad = [(0, 2), (0, 4)]
    logits = np.pad(LOGITS, [*pad, (0, 0)], constant_values=9.0)
    padded = loss(np.pad(TARGETS, pad), logits, np.pad(WEIGHTS, pad))
    assert value(padded) == pytest.approx(
        value(loss(TARGETS, LOGITS, WEIGHTS)), rel=1e-6
    )
    assert value(loss(TARGETS, LOGITS, np.zeros_like(WEIGHTS))) == 0.0
