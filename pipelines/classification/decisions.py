"""From logits to what a person reads: probabilities, labels, scores."""

import numpy as np

from pipelines.classification import metrics
from pipelines.errors import InputError


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
        settings: of the model folder: `problem`, `thresholds`,
            `allow_empty`, `abstain_below`.

    Returns:
        `{"label", "score", "scores": {label: probability}}`, the label None
        where the score is below `abstain_below`; with several labels a text
        `{"labels", "scores"}`, where the most likely label stands in for an
        empty decision unless `allow_empty`; for a regression `{"score"}`.
    """
    if settings["problem"] == "regression":
        return [{"score": float(row[0])} for row in scores]
    named = [dict(zip(labels, map(float, row), strict=True)) for row in scores]
    if settings["problem"] == "single_label":
        best, least = scores.argmax(axis=-1), abstain_below(settings)
        return [
            {
                "label": labels[i] if row[labels[i]] >= least else None,
                "score": row[labels[i]],
                "scores": row,
            }
            for i, row in zip(best, named, strict=True)
        ]
    chosen = multi_label_choice(scores, labels, settings)
    return [
        {"labels": [labels[i] for i in np.flatnonzero(row)], "scores": by_name}
        for row, by_name in zip(chosen, named, strict=True)
    ]


def multi_label_choice(
    probabilities: np.ndarray, labels: tuple[str, ...], settings: dict
) -> np.ndarray:
    """Which labels apply, (texts, labels) of bool.

    At least one a text, unless the settings have `allow_empty`.
    """
    thresholds = thresholds_of(settings, labels)
    chosen = probabilities >= thresholds
    if settings.get("allow_empty"):
        return chosen
    empty = ~chosen.any(axis=1)
    chosen[empty, (probabilities - thresholds)[empty].argmax(axis=1)] = True
    return chosen


def thresholds_of(settings: dict, labels: tuple[str, ...]) -> np.ndarray:
    """The saved thresholds, or 0.5 for each label."""
    return np.asarray(settings.get("thresholds") or [0.5] * len(labels))


def abstain_below(settings: dict) -> float:
    """The score below which a text gets no label; 0 answers all."""
    return settings.get("abstain_below") or 0.0


def score(
    gold: list, scores: np.ndarray, labels: tuple[str, ...], settings: dict
) -> dict:
    """Metrics of a whole data set.

    Args:
        gold: right label of each text (a tuple of labels, a float).
        scores: (texts, classes), from `to_scores`.
        labels: names in the order of the columns.
        settings: of the model folder. With `abstain_below` there are also
            `coverage`, the share of the texts that are answered, and
            `answered_accuracy`, None if none is.
    """
    if settings["problem"] == "single_label":
        found = metrics.single_label_scores(gold, scores, labels)
        if least := abstain_below(settings):
            found |= _answered(gold, scores, labels, least)
        return found
    if settings["problem"] == "multi_label":
        chosen = multi_label_choice(scores, labels, settings)
        return metrics.multi_label_scores(gold, scores, labels, chosen)
    return metrics.regression_scores(gold, scores[:, 0])


def one_sided(metrics: dict) -> str | None:
    """A warning if a classifier has one answer for everything.

    Args:
        metrics: from `score`.
    """
    labels = metrics.get("confusion_labels", [])
    named = np.sum(metrics.get("confusion_matrix", []), axis=0)
    if len(labels) < 2 or np.count_nonzero(named) != 1:
        return None
    label = labels[int(np.argmax(named))]
    gold = np.sum(metrics["confusion_matrix"], axis=1)
    if np.count_nonzero(gold) < 2:
        return None  # rightly so
    return (
        f'Warning: all {named.sum()} texts are called "{label}"; the most '
        f"frequent label alone is right {metrics['majority_baseline']:.1%} of "
        "the time. More epochs, another learning rate, --sampling balanced or "
        "--class-weights balanced may help."
    )


def _answered(gold, scores, labels, least):
    right = np.array(labels)[scores.argmax(axis=-1)] == np.array(gold)
    answered = scores.max(axis=-1) >= least
    return {
        "coverage": float(answered.mean()),
        "answered_accuracy": (
            float(right[answered].mean()) if answered.any() else None
        ),
    }


def with_abstention(settings: dict, least: float | None) -> dict:
    """Settings with another `abstain_below`; None leaves the model's own.

    Raises:
        InputError: if the model has no one label to withhold.
    """
    if least is None:
        return settings
    if settings.get("problem") != "single_label":
        raise InputError(
            "--abstain-below: only of classifiers with one label a text."
        )
    return {**settings, "abstain_below": least}
