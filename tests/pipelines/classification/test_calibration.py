"""Temperature, calibration error and abstention against their definitions."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.classification.calibration import (
    fit_abstention,
    fit_decisions,
    fit_temperature,
)
from pipelines.classification.metrics import (
    calibration_error,
    reliability,
    sigmoid,
    softmax,
)
from pipelines.classification.texts import predict_scores, row_logits, tokenise
from pipelines.data.examples import TextExample
from pipelines.model_folder import read_model_folder
from tests.pipelines.tiny import rows

free = pytest.mark.backend_free
SCORES = st.lists(
    st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=30
)


@free
def test_the_error_is_the_gap_between_confidence_and_accuracy():
    confidence = np.array([0.62, 0.64, 0.9, 0.91, 0.92, 0.1])
    right = np.array([True, False, True, True, False, False])
    # Bins of 1/15: .6 to .667, .867 to .933, .067 to .133.
    gaps = [2 * abs(0.5 - 0.63), 3 * abs(2 / 3 - 0.91), abs(0 - 0.1)]
    expected = sum(gaps) / 6
    assert calibration_error(confidence, right) == pytest.approx(expected)


@free
@given(SCORES)
def test_the_bins_are_those_of_the_error(pairs):
    confidence = np.array([score / 12 for score, _ in pairs])
    right = np.array([is_right for _, is_right in pairs])
    bins = reliability(confidence, right)
    assert sum(each["count"] for each in bins) == len(pairs)
    for each in bins:
        assert each["low"] <= each["confidence"] <= each["high"] + 1e-12
    gaps = [b["count"] * abs(b["confidence"] - b["right"]) for b in bins]
    assert sum(gaps) / len(pairs) == pytest.approx(
        calibration_error(confidence, right)
    )


@free
def test_certainty_has_a_bin_and_being_right_has_no_error():
    assert calibration_error(np.ones(4), np.ones(4, bool)) == 0
    assert calibration_error(np.ones(4), np.zeros(4, bool)) == 1


@free
@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0])
def test_the_temperature_undoes_what_scaled_the_logits(factor):
    """Labels are drawn from the probabilities that the logits had before."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (20_000, 3))
    drawn = rng.random((20_000, 1)) < softmax(logits).cumsum(axis=1)
    found = fit_temperature(
        lambda t: factor * logits / t, drawn.argmax(axis=1), "single_label"
    )
    assert found == pytest.approx(factor, rel=0.05)
    drawn = (rng.random(logits.shape) < sigmoid(logits)).astype(int)
    found = fit_temperature(lambda t: factor * logits / t, drawn, "multi_label")
    assert found == pytest.approx(factor, rel=0.05)


@free
@pytest.mark.parametrize("count", [4, 40])
def test_validation_data_without_a_mistake_give_no_certainty(count):
    """The right class has one chance in count + 2 to be wrong."""
    gold = np.arange(count) % 2
    logits = np.where(np.arange(2) == gold[:, None], 1.0, -1.0)
    found = fit_temperature(lambda t: logits / t, gold, "single_label")
    chance = softmax(logits / found)[np.arange(count), gold]
    assert chance == pytest.approx((count + 1) / (count + 2), abs=1e-4)


@free
@given(SCORES, st.floats(0.1, 1.0))
@settings(max_examples=200, deadline=None)
def test_the_threshold_answers_as_much_as_is_right_often_enough(pairs, wanted):
    scores = np.array([score / 13 for score, _ in pairs])
    right = np.array([is_right for _, is_right in pairs])
    threshold = fit_abstention(scores, right, wanted)

    def answered(least):
        return scores >= least

    good = [
        answered(least).sum()
        for least in {0.0, *scores}
        if right[answered(least)].mean() >= wanted
    ]
    assert answered(threshold).sum() == max(good, default=0)


def make_inputs(fine_tuned, longest):
    examples = [TextExample(text, label=name) for text, name in rows(24)]
    inputs, _ = tokenise(fine_tuned.tokenizer, examples, longest)
    return examples, inputs


def test_the_temperature_goes_into_the_weights(trained):
    opened = read_model_folder(str(trained.folder))
    examples, inputs = make_inputs(opened, 8)
    logits = row_logits(opened, inputs, 16)
    gold = [example.label for example in examples]
    options = dataclasses.replace(trained.options, target_accuracy=0.9)
    found = fit_decisions(opened, logits, None, gold, options)
    expected = softmax(logits.astype("float64") / found["temperature"])
    scores = predict_scores(opened, examples)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    right = np.array(opened.labels)[expected.argmax(axis=1)] == np.array(gold)
    after = calibration_error(expected.max(axis=1), right)
    assert found["calibration_error"]["after"] == pytest.approx(after, abs=1e-4)
    least = found["abstain_below"]
    assert least == opened.settings["abstain_below"]
    answered = expected.max(axis=1) >= least
    assert right[answered].mean() >= 0.9 or not answered.any()
