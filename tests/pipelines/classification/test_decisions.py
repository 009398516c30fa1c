"""From logits to labels and scores."""

import numpy as np
import pytest

from pipelines.classification.decisions import (
    decide,
    multi_label_choice,
    one_sided,
    score,
    thresholds_of,
    to_scores,
    with_abstention,
)
from pipelines.errors import InputError

pytestmark = pytest.mark.backend_free
LABELS = ("a", "b", "c")


def test_one_label_gets_the_largest_probability():
    scores = to_scores(np.array([[0.0, 2.0, 1.0]], "float32"), "single_label")
    (result,) = decide(scores, LABELS, {"problem": "single_label"})
    assert result["label"] == "b"
    assert list(result["scores"]) == list(LABELS)
    assert sum(result["scores"].values()) == pytest.approx(1)
    assert result["score"] == max(result["scores"].values())
    expected = np.exp([0, 2, 1]) / np.exp([0, 2, 1]).sum()
    assert list(result["scores"].values()) == pytest.approx(list(expected))


def test_several_labels_get_independent_probabilities():
    scores = to_scores(np.array([[0.0, 2.0, -3.0]]), "multi_label")
    (result,) = decide(scores, LABELS, {"problem": "multi_label"})
    assert result["labels"] == ["a", "b"]
    assert list(result["scores"].values()) == pytest.approx(
        [0.5, 0.880797, 0.047426], abs=1e-6
    )


def test_saved_thresholds_decide():
    settings = {"problem": "multi_label", "thresholds": [0.9, 0.1, 0.5]}
    scores = np.array([[0.8, 0.2, 0.4]])
    assert decide(scores, LABELS, settings)[0]["labels"] == ["b"]


def test_a_threshold_that_is_just_reached_is_reached():
    settings = {"thresholds": [0.5, 0.5]}
    chosen = multi_label_choice(np.array([[0.5, 0.4]]), LABELS[:2], settings)
    assert chosen.tolist() == [[True, False]]


def test_where_nothing_is_reached_the_nearest_label_stands_in():
    settings = {"thresholds": [0.9, 0.4]}
    scores = np.array([[0.6, 0.3]])
    chosen = multi_label_choice(scores, LABELS[:2], settings)
    assert chosen.tolist() == [[False, True]]
    settings["allow_empty"] = True
    chosen = multi_label_choice(scores, LABELS[:2], settings)
    assert chosen.tolist() == [[False, False]]
    settings["problem"] = "multi_label"
    (result,) = decide(scores, LABELS[:2], settings)
    assert result["labels"] == []


def test_without_saved_thresholds_one_half_decides():
    assert thresholds_of({}, LABELS).tolist() == [0.5, 0.5, 0.5]


def test_a_regression_gives_its_value():
    scores = to_scores(np.array([[-1.5]], "float32"), "regression")
    assert decide(scores, ("score",), {"problem": "regression"}) == [
        {"score": -1.5}
    ]


@pytest.mark.parametrize(
    ("problem", "gold", "metric"),
    [
        ("single_label", ["a"], "accuracy"),
        ("multi_label", [("a",)], "micro_f1"),
        ("regression", [0.9], "r2"),
    ],
)
def test_each_problem_has_its_metrics(problem, gold, metric):
    scores = np.array([[0.9, 0.05, 0.05]])
    found = score(gold, scores, LABELS, {"problem": problem})
    assert metric in found
    assert "loss" in found


def test_a_low_score_gets_no_label():
    scores = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    settings = {"problem": "single_label", "abstain_below": 0.6}
    found = decide(scores, LABELS, settings)
    assert [row["label"] for row in found] == [None, "b", "c"]
    assert found[0]["score"] == 0.5
    metrics = score(["a", "b", "a"], scores, LABELS, settings)
    assert metrics["coverage"] == pytest.approx(2 / 3)
    assert metrics["answered_accuracy"] == 0.5
    assert metrics["accuracy"] == pytest.approx(2 / 3)  # of all texts
    settings = {**settings, "abstain_below": 0.9}
    metrics = score(["a", "b", "a"], scores, LABELS, settings)
    assert (metrics["coverage"], metrics["answered_accuracy"]) == (0, None)


def test_abstention_can_be_asked_for_or_switched_off():
    one = {"problem": "single_label", "abstain_below": 0.6}
    assert with_abstention(one, None) == one
    assert with_abstention(one, 0.0)["abstain_below"] == 0
    assert "coverage" not in score(
        ["a"], np.eye(3)[:1], LABELS, with_abstention(one, 0.0)
    )
    for other in ({"problem": "multi_label"}, {"task": "tag"}):
        assert with_abstention(other, None) == other
        with pytest.raises(InputError, match="--abstain-below: only of class"):
            with_abstention(other, 0.5)


def test_one_answer_for_everything_is_told():
    same = np.array([[0.6, 0.3, 0.1]] * 4)
    settings = {"problem": "single_label"}
    warning = one_sided(score(["a", "b", "a", "a"], same, LABELS, settings))
    assert 'all 4 texts are called "a"' in warning
    assert "75.0%" in warning
    # Rightly so, or not so at all.
    assert one_sided(score(["a"] * 4, same, LABELS, settings)) is None
    other = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1]])
    assert one_sided(score(["a", "b"], other, LABELS, settings)) is None
    assert one_sided({"micro_f1": 0.5}) is None
