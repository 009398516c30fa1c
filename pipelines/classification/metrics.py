"""Scores of classification and regression, by scikit-learn."""

import warnings

import numpy as np
from sklearn import metrics

_BINS = 15
# Keeps the loss of a certain and wrong prediction finite.
_LEAST = 1e-12


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities (..., classes) that sum to 1."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Independent probabilities, without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def single_label_scores(
    gold: list[str], probabilities: np.ndarray, labels: tuple[str, ...]
) -> dict:
    """Scores of a classifier with one label a text.

    Args:
        gold: the right label of each text. A label that is not in `labels`
            counts as missed: no prediction can be right.
        probabilities: (texts, classes).
        labels: the classes in the order of the columns.

    Returns:
        `accuracy`, `macro_f1`, `matthews_correlation`,
        `majority_baseline` (the accuracy of always naming the most frequent
        gold label), `loss` (mean negative log-likelihood), `per_class` and
        `confusion_matrix` (rows gold, columns predicted, in the order of
        `confusion_labels`), and the expected `calibration_error`.
    """
    predicted = [labels[i] for i in probabilities.argmax(axis=-1)]
    unknown = sorted(set(gold) - set(labels))
    every = [*labels, *unknown]
    with warnings.catch_warnings():
        # A class without texts or predictions scores 0; that is no news.
        warnings.simplefilter("ignore")
        report = metrics.classification_report(
            gold, predicted, labels=every, output_dict=True, zero_division=0
        )
        matthews = metrics.matthews_corrcoef(gold, predicted)
    counts = {label: gold.count(label) for label in set(gold)}
    return {
        "accuracy": metrics.accuracy_score(gold, predicted),
        "macro_f1": _mean_f1(report, set(gold) | set(predicted)),
        "matthews_correlation": float(matthews),
        "majority_baseline": max(counts.values()) / len(gold),
        "loss": _negative_log_likelihood(gold, probabilities, labels),
        "calibration_error": calibration_error(
            probabilities.max(axis=-1), np.array(predicted) == np.array(gold)
        ),
        "per_class": {
            label: {
                "precision": report[label]["precision"],
                "recall": report[label]["recall"],
                "f1": report[label]["f1-score"],
                "support": int(report[label]["support"]),
            }
            for label in every
        },
        "confusion_labels": every,
        "confusion_matrix": metrics.confusion_matrix(
            gold, predicted, labels=every
        ).tolist(),
    }


def multi_label_scores(
    gold: list[tuple[str, ...]],
    probabilities: np.ndarray,
    labels: tuple[str, ...],
    chosen: np.ndarray,
) -> dict:
    """Scores of a classifier with any number of labels a text.

    Args:
        gold: the right labels of each text; unknown ones count as missed.
        probabilities: (texts, labels).
        labels: in the order of the columns.
        chosen: (texts, labels) of bool, the labels that are predicted.

    Returns:
        `accuracy` (all labels of a text right), `micro_f1`, `macro_f1`,
        `loss` (mean binary cross-entropy), `per_class` and the expected
        `calibration_error` of the labels' probabilities.
    """
    unknown = sorted({name for names in gold for name in names} - set(labels))
    every = [*labels, *unknown]
    truth = np.array([[name in names for name in every] for names in gold])
    predicted = np.zeros_like(truth)
    predicted[:, : len(labels)] = chosen
    right = (truth & predicted).sum(axis=0)
    support, named = truth.sum(axis=0), predicted.sum(axis=0)
    precision = right / np.maximum(named, 1)
    recall = right / np.maximum(support, 1)
    f1 = 2 * right / np.maximum(named + support, 1)
    chance = np.clip(probabilities, 1e-7, 1 - 1e-7)
    known = truth[:, : len(labels)]
    loss = -np.where(known, np.log(chance), np.log1p(-chance)).mean()
    seen = truth.any(axis=0) | predicted.any(axis=0)
    return {
        "accuracy": float((truth == predicted).all(axis=1).mean()),
        "micro_f1": float(
            2 * right.sum() / max(1, named.sum() + support.sum())
        ),
        "macro_f1": float(f1[seen].mean()) if seen.any() else 0.0,
        "loss": float(loss),
        "calibration_error": calibration_error(probabilities, known),
        "per_class": {
            label: {
                "precision": float(precision[i]),
                "recall": float(recall[i]),
                "f1": float(f1[i]),
                "support": int(support[i]),
            }
            for i, label in enumerate(every)
        },
    }


def regression_scores(gold: list[float], predicted: np.ndarray) -> dict:
    """Scores of a regression.

    Args:
        gold: the right values.
        predicted: (texts,).

    Returns:
        `mean_squared_error` (also as `loss`), `mean_absolute_error`, `r2` (1
        for perfect, 0 for the mean of the gold values; larger is better) and
        `pearson`.
    """
    gold = np.asarray(gold, dtype="float64")
    predicted = np.asarray(predicted, dtype="float64")
    error = np.mean((gold - predicted) ** 2)
    varies = gold.std() > 0 and predicted.std() > 0
    return {
        "mean_squared_error": float(error),
        "loss": float(error),
        "mean_absolute_error": float(np.mean(np.abs(gold - predicted))),
        "r2": float(1 - error / gold.var()) if gold.std() > 0 else 0.0,
        "pearson": float(np.corrcoef(gold, predicted)[0, 1]) if varies else 0.0,
    }


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error over 15 bins of equal width.

    `sum over bins of share(bin) * |accuracy(bin) - mean confidence(bin)|`.

    Args:
        confidence: (decisions,) of probabilities.
        right: bool (decisions,): what was predicted with them came true.

    Reference:
        [Guo et al., 2017](https://arxiv.org/abs/1706.04599), equation 3
    """
    confidence = np.asarray(confidence, "float64").ravel()
    right = np.asarray(right, "float64").ravel()
    gaps = np.bincount(_bins(confidence), confidence - right, minlength=_BINS)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))


def reliability(confidence: np.ndarray, right: np.ndarray) -> list[dict]:
    """What `calibration_error` compares, for each bin that is not empty.

    Args:
        confidence, right: as there.

    Returns:
        By bin `low` and `high` (its ends), `confidence` (mean), `right`
        (share) and `count`.
    """
    confidence = np.asarray(confidence, "float64").ravel()
    right = np.asarray(right, "float64").ravel()
    bins = _bins(confidence)
    return [
        {
            "low": float(i / _BINS),
            "high": float((i + 1) / _BINS),
            "confidence": float(confidence[bins == i].mean()),
            "right": float(right[bins == i].mean()),
            "count": int((bins == i).sum()),
        }
        for i in np.unique(bins)
    ]


def _bins(confidence):
    return np.minimum((confidence * _BINS).astype("int64"), _BINS - 1)


def fit_thresholds(
    gold: list[tuple[str, ...]],
    probabilities: np.ndarray,
    labels: tuple[str, ...],
) -> np.ndarray:
    """For each label the threshold with the highest F1, to be saved.

    Args:
        gold: the right labels of each validation text.
        probabilities: (texts, labels).
        labels: in the order of the columns.

    Returns:
        (labels,) floats in (0, 1); 0.5 for a label without examples.
    """
    thresholds = np.full(len(labels), 0.5)
    for i, label in enumerate(labels):
        truth = np.array([label in names for names in gold])
        if not truth.any():
            continue
        precision, recall, cuts = metrics.precision_recall_curve(
            truth, probabilities[:, i]
        )
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        at = int(np.argmax(f1[:-1]))
        # Half-way to the next lower score, so that it holds on new texts.
        lower = probabilities[:, i][probabilities[:, i] < cuts[at]]
        below = lower.max() if len(lower) else 0.0
        thresholds[i] = (cuts[at] + below) / 2
    return thresholds


def _mean_f1(report, seen):
    return float(np.mean([report[label]["f1-score"] for label in sorted(seen)]))


def _negative_log_likelihood(gold, probabilities, labels):
    column = {label: i for i, label in enumerate(labels)}
    rows = [i for i, label in enumerate(gold) if label in column]
    if not rows:
        return float(-np.log(_LEAST))
    chosen = probabilities[rows, [column[gold[i]] for i in rows]]
    return float(-np.log(np.maximum(chosen, _LEAST)).mean())
