"""The losses of the three problems against their formulas."""

import numpy as np
import pytest

from pipelines.classification.metrics import softmax
from pipelines.classification.training import make_loss
from pipelines.options import ClassifyOptions
from tests.keras_encoder.layer_contract import to_numpy

LOGITS = np.array([[2.0, -1.0, 0.5], [0.0, 1.0, -3.0]], "float32")
WEIGHTS = np.array([1.0, 3.0], "float32")


def loss(targets, **changes):
    function = make_loss(ClassifyOptions(**changes))
    weights = WEIGHTS
    return float(to_numpy(function(targets, LOGITS, sample_weight=weights)))


def mean(by_row):
    return float((by_row * WEIGHTS).sum() / WEIGHTS.sum())


def test_the_loss_is_a_mean_over_the_weights():
    expected = mean(-np.log(softmax(LOGITS)[[0, 1], [2, 1]]))
    assert loss(np.array([2, 1])) == pytest.approx(expected, rel=1e-5)


def test_rows_of_weight_zero_change_nothing():
    function = make_loss(ClassifyOptions())
    alone = function(np.array([2]), LOGITS[:1], sample_weight=WEIGHTS[:1])
    filled = function(
        np.array([2, 0]), LOGITS, sample_weight=np.array([1.0, 0.0], "float32")
    )
    assert float(to_numpy(filled)) == pytest.approx(float(to_numpy(alone)))


def test_label_smoothing_spreads_a_share_over_all_classes():
    log = np.log(softmax(LOGITS))
    expected = mean(-(0.8 * log[[0, 1], [2, 1]] + 0.2 * log.mean(axis=1)))
    found = loss(np.array([2, 1]), label_smoothing=0.2)
    assert found == pytest.approx(expected, rel=1e-5)


def test_several_labels_have_a_loss_each():
    targets = np.array([[1, 0, 1], [0, 0, 0]], "float32")
    chance = 1 / (1 + np.exp(-LOGITS))
    by_row = -np.log(np.where(targets > 0, chance, 1 - chance)).mean(axis=1)
    found = loss(targets, problem="multi_label")
    assert found == pytest.approx(mean(by_row), rel=1e-5)


def test_a_regression_has_the_squared_error():
    function = make_loss(ClassifyOptions(problem="regression"))
    targets = np.array([[1.0], [0.0]], "float32")
    found = function(targets, LOGITS[:, :1], sample_weight=WEIGHTS)
    assert float(to_numpy(found)) == pytest.approx(mean([1.0, 0.0]))
