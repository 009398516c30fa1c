"""Scores against counts by hand, with classes that are absent or unknown."""

import json
import math

import numpy as np
import pytest

from pipelines.classification.metrics import (
    fit_thresholds,
    multi_label_scores,
    regression_scores,
    sigmoid,
    single_label_scores,
    softmax,
)

pytestmark = pytest.mark.backend_free
LABELS = ("a", "b", "c")


def probabilities(predicted, certainty=0.8):
    """Rows whose largest column is the predicted label."""
    rest = (1 - certainty) / 2
    return np.array(
        [[certainty if n == p else rest for n in LABELS] for p in predicted]
    )


def f1_by_hand(gold, predicted, label):
    right = sum(g == p == label for g, p in zip(gold, predicted, strict=True))
    total = gold.count(label) + predicted.count(label)
    return 2 * right / total if total else 0.0


GOLD = ["a", "a", "b", "c", "c", "c", "b", "a"]
PREDICTED = ["a", "b", "b", "c", "a", "c", "c", "a"]


def test_single_label_scores_equal_counts_by_hand():
    scores = single_label_scores(GOLD, probabilities(PREDICTED), LABELS)
    assert scores["accuracy"] == pytest.approx(5 / 8)
    f1 = [f1_by_hand(GOLD, PREDICTED, label) for label in LABELS]
    assert scores["macro_f1"] == pytest.approx(np.mean(f1))
    assert [scores["per_class"][n]["f1"] for n in LABELS] == pytest.approx(f1)
    assert scores["per_class"]["a"]["precision"] == pytest.approx(2 / 3)
    assert scores["per_class"]["b"]["recall"] == pytest.approx(1 / 2)
    assert scores["per_class"]["c"]["support"] == 3
    assert scores["majority_baseline"] == pytest.approx(3 / 8)
    assert scores["confusion_labels"] == list(LABELS)
    assert scores["confusion_matrix"] == [[2, 1, 0], [0, 1, 1], [1, 0, 2]]
    right = [g == p for g, p in zip(GOLD, PREDICTED, strict=True)]
    expected = -np.mean([math.log(0.8 if r else 0.1) for r in right])
    assert scores["loss"] == pytest.approx(expected)


def test_matthews_correlation_equals_the_formula():
    """Gorodkin 2004: covariance of the two one-hot matrices."""
    scores = single_label_scores(GOLD, probabilities(PREDICTED), LABELS)
    gold = np.array([[g == n for n in LABELS] for g in GOLD], float)
    found = np.array([[p == n for n in LABELS] for p in PREDICTED], float)

    def covariance(one, other):
        return ((one - one.mean(0)) * (other - other.mean(0))).sum()

    expected = covariance(gold, found) / math.sqrt(
        covariance(gold, gold) * covariance(found, found)
    )
    assert scores["matthews_correlation"] == pytest.approx(expected)


def test_a_label_that_the_model_does_not_know_counts_as_missed():
    gold = ["a", "b", "new", "new"]
    predicted = ["a", "b", "a", "c"]
    scores = single_label_scores(gold, probabilities(predicted), LABELS)
    assert scores["accuracy"] == pytest.approx(2 / 4)
    assert scores["per_class"]["new"] == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "support": 2,
    }
    assert scores["confusion_labels"] == ["a", "b", "c", "new"]
    assert scores["confusion_matrix"][3] == [1, 0, 1, 0]
    # a: 2/3, b: 1, c and new: 0
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 1) / 4)
    assert scores["majority_baseline"] == pytest.approx(1 / 2)


def test_only_unknown_labels_give_numbers_that_json_knows():
    scores = single_label_scores(["new"], probabilities(["a"]), LABELS)
    assert scores["accuracy"] == 0
    json.dumps(scores, allow_nan=False)


def test_a_class_that_is_neither_gold_nor_predicted_is_not_averaged():
    scores = single_label_scores(["a", "b"], probabilities(["a", "b"]), LABELS)
    assert scores["macro_f1"] == 1.0
    assert scores["per_class"]["c"]["support"] == 0


def test_data_of_one_class_have_scores():
    scores = single_label_scores(["a", "a"], probabilities(["a", "a"]), LABELS)
    assert scores["accuracy"] == scores["macro_f1"] == 1.0
    assert scores["majority_baseline"] == 1.0
    assert scores["matthews_correlation"] == 0.0


def test_scores_can_be_written_as_json():
    single = single_label_scores(GOLD, probabilities(PREDICTED), LABELS)
    gold = [("a",), ()]
    chosen = np.array([[True, False, False]] * 2)
    multi = multi_label_scores(gold, probabilities("aa"), LABELS, chosen)
    numbers = regression_scores([1.0, 2.0], np.array([1.0, 3.0], "float32"))
    for scores in (single, multi, numbers):
        json.dumps(scores, allow_nan=False)


def test_multi_label_scores_equal_counts_by_hand():
    gold = [("a", "b"), ("b",), (), ("a", "c")]
    chosen = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    chance = np.where(chosen, 0.9, 0.2)
    scores = multi_label_scores(gold, chance, LABELS, chosen)
    assert scores["accuracy"] == pytest.approx(2 / 4)
    # right, missed, too many: a 2 0 1, b 2 0 0, c 0 1 0
    assert scores["per_class"]["a"] == {
        "precision": pytest.approx(2 / 3),
        "recall": 1.0,
        "f1": pytest.approx(4 / 5),
        "support": 2,
    }
    assert scores["macro_f1"] == pytest.approx((4 / 5 + 1 + 0) / 3)
    assert scores["micro_f1"] == pytest.approx(8 / 10)
    truth = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]], bool)
    expected = -np.log(np.where(truth, chance, 1 - chance)).mean()
    assert scores["loss"] == pytest.approx(expected)


def test_unknown_labels_among_several_count_as_missed():
    chosen = np.array([[True, False, False]])
    scores = multi_label_scores(
        [("a", "new")], np.array([[0.9, 0.1, 0.1]]), LABELS, chosen
    )
    assert scores["accuracy"] == 0
    assert scores["micro_f1"] == pytest.approx(2 / 3)
    assert scores["macro_f1"] == pytest.approx(1 / 2)
    assert scores["per_class"]["new"]["recall"] == 0


def test_one_label_that_applies_or_not():
    gold = [("a",), (), ("a",)]
    chosen = np.array([[True], [True], [True]])
    chance = np.array([[0.9], [0.8], [0.7]])
    scores = multi_label_scores(gold, chance, ("a",), chosen)
    assert scores["per_class"]["a"]["precision"] == pytest.approx(2 / 3)
    assert scores["macro_f1"] == pytest.approx(4 / 5)
    assert scores["micro_f1"] == pytest.approx(4 / 5)
    assert scores["accuracy"] == pytest.approx(2 / 3)


def test_certain_and_wrong_probabilities_have_a_finite_loss():
    chosen = np.array([[True, False, False]])
    scores = multi_label_scores(
        [("b",)], np.array([[1.0, 0.0, 0.0]]), LABELS, chosen
    )
    assert math.isfinite(scores["loss"])
    single = single_label_scores(["b"], np.array([[1.0, 0.0, 0.0]]), LABELS)
    assert math.isfinite(single["loss"])


def test_regression_scores_equal_the_formulas():
    gold = np.array([1.0, 2.0, 4.0, 3.0])
    predicted = np.array([1.5, 2.0, 3.0, 3.5])
    scores = regression_scores(list(gold), predicted)
    assert scores["mean_squared_error"] == pytest.approx(1.5 / 4)
    assert scores["loss"] == scores["mean_squared_error"]
    assert scores["mean_absolute_error"] == pytest.approx(0.5)
    assert scores["r2"] == pytest.approx(1 - 1.5 / 5.0)
    assert scores["pearson"] == pytest.approx(
        np.corrcoef(gold, predicted)[0, 1]
    )


def test_constant_values_have_finite_scores():
    for gold, predicted in (([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 3.0])):
        scores = regression_scores(gold, np.array(predicted))
        assert all(map(math.isfinite, scores.values()))


def test_a_diverged_regression_has_no_score_but_no_error():
    scores = regression_scores([1.0, 2.0], np.array([math.nan, 1.0]))
    assert math.isnan(scores["loss"])


def test_softmax_and_sigmoid_do_not_overflow():
    logits = np.array([[1e4, -1e4, 0.0]])
    assert softmax(logits).tolist() == [[1.0, 0.0, 0.0]]
    np.testing.assert_allclose(sigmoid(logits), [[1.0, 0.0, 0.5]])
    np.testing.assert_allclose(sigmoid(np.array(1.3)), 1 / (1 + np.exp(-1.3)))


def test_thresholds_have_the_best_f1_of_all():
    random = np.random.default_rng(0)
    chance = random.random((40, 3))
    gold = [
        tuple(n for n, p in zip(LABELS, row, strict=True) if p + g > 1.1)
        for row, g in zip(chance, random.random(40), strict=True)
    ]
    thresholds = fit_thresholds(gold, chance, LABELS)

    def f1(column, threshold):
        truth = [LABELS[column] in names for names in gold]
        found = list(chance[:, column] >= threshold)
        return f1_by_hand(truth, found, True)

    for column, threshold in enumerate(thresholds):
        best = max(f1(column, cut) for cut in chance[:, column])
        assert f1(column, threshold) == pytest.approx(best)
        assert 0 < threshold < 1


def test_a_label_without_examples_keeps_the_usual_threshold():
    chance = np.array([[0.9, 0.2, 0.3], [0.1, 0.3, 0.4]])
    thresholds = fit_thresholds([("a",), ()], chance, LABELS)
    assert thresholds[1:].tolist() == [0.5, 0.5]
    assert thresholds[0] == pytest.approx(0.5)
