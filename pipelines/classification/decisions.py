"""From logits to what a person reads: probabilities, labels, scores."""

import numpy as np

from pipelines.classification import metrics


def to_scores(logits: np.ndarray, problem: str) -> np.ndarray:
    """Probabilities (rows, classes), or the values of a regression."""
    logits = np.asarray(logits, dtype="float64")
    if problem == "single_label":
        return metrics.softmax(logits)
    if problem == "multi_label":
        return metrics.sigmoid(logits)
    return logits


def decide(
    scores: np.ndarray, labels: tuple[str, ...], settings: dict
) -> list[dict]:
    """One result a text, as `predict` writes it.

    Args:
        scores: (texts, classes), from `to_scores`.
        labels: names in the order of the columns.
        settings: of the model folder: `problem`, `thresholds`.

    Returns:
        `{"label", "score", "scores": {label: probability}}`; with several
        labels a text `{"labels", "scores"}`, where the most likely label
        stands in for an empty decision; for a regression `{"score"}`.
    """
    if settings["problem"] == "regression":
        return [{"score": float(row[0])} for row in scores]
    named = [dict(zip(labels, map(float, row), strict=True)) for row in scores]
    if settings["problem"] == "single_label":
        best = scores.argmax(axis=-1)
        return [
            {"label": labels[i], "score": row[labels[i]], "scores": row}
            for i, row in zip(best, named, strict=True)
        ]
    chosen = multi_label_choice(scores, thresholds_of(settings, labels))
    return [
        {"labels": [labels[i] for i in np.flatnonzero(row)], "scores": by_name}
        for row, by_name in zip(chosen, named, strict=True)
    ]


def multi_label_choice(
    probabilities: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """Which labels apply, (texts, labels) of bool; at least one a text."""
    chosen = probabilities >= thresholds
    empty = ~chosen.any(axis=1)
    chosen[empty, (probabilities - thresholds)[empty].argmax(axis=1)] = True
    return chosen


def thresholds_of(settings: dict, labels: tuple[str, ...]) -> np.ndarray:
    """The saved thresholds, or 0.5 for each label."""
    return np.asarray(settings.get("thresholds") or [0.5] * len(labels))


def score(
    gold: list, scores: np.ndarray, labels: tuple[str, ...], settings: dict
) -> dict:
    """Metrics of a whole data set.

    Args:
        gold: right label of each text (a tuple of labels, a float).
        scores: (texts, classes), from `to_scores`.
        labels: names in the order of the columns.
        settings: of the model folder.
    """
    if settings["problem"] == "single_label":
        return metrics.single_label_scores(gold, scores, labels)
    if settings["problem"] == "multi_label":
        thresholds = thresholds_of(settings, labels)
        chosen = multi_label_choice(scores, thresholds)
        return metrics.multi_label_scores(gold, scores, labels, chosen)
    return metrics.regression_scores(gold, scores[:, 0])
