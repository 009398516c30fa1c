"""Probabilities that mean what they say, and silence where they are low.

A network is more certain than it is right. One number, the temperature,
mends most of that: logits are divided by it, which changes no ranking. The
number goes into the weights of the last layer, so that every reader of the
model folder, transformers too, shows calibrated probabilities.
"""

from collections.abc import Callable

import numpy as np

from pipelines.classification.decisions import to_scores
from pipelines.classification.metrics import calibration_error, fit_thresholds
from pipelines.classification.texts import text_logits
from pipelines.console import say
from pipelines.model_folder import FineTuned
from pipelines.options import ClassifyOptions

# Temperatures that are tried; beyond them something else is wrong.
_COLDEST, _HOTTEST = 0.05, 20.0
_GOLDEN = (5**0.5 - 1) / 2


def fit_decisions(
    fine_tuned: FineTuned,
    logits: np.ndarray,
    owners: np.ndarray | None,
    gold: list,
    options: ClassifyOptions,
) -> dict:
    """Fits on validation data all that stands between logits and answers.

    The temperature goes into the last layer's weights; the thresholds of
    several labels, and the score below which there is no answer, into the
    settings.

    Args:
        fine_tuned: a trained classifier, changed in place.
        logits: (rows, classes) of the validation texts or their windows.
        owners: int (rows,), the text of each window; None without windows.
        gold: their labels.
        options: of the recipe.

    Returns:
        `temperature`, `calibration_error` on the validation data as `before`
        and `after`, and `abstain_below` if asked for; {} for a regression.
    """
    settings, labels = fine_tuned.settings, fine_tuned.labels
    problem = settings["problem"]
    known, targets = _targets(gold, labels, problem)
    if problem == "regression" or not len(known):
        return {}

    def logits_at(temperature):
        scaled = (logits / temperature).astype("float32")
        return text_logits(scaled, owners, settings)[known]

    temperature = fit_temperature(logits_at, targets, problem)
    before = to_scores(logits_at(1.0), problem)
    after = to_scores(logits_at(temperature), problem)
    last = fine_tuned.model.logits
    last.set_weights([w / temperature for w in last.get_weights()])
    found = {
        "temperature": temperature,
        "calibration_error": {
            "before": calibration_error(*_decisions(before, targets)),
            "after": calibration_error(*_decisions(after, targets)),
        },
    }
    errors = found["calibration_error"]
    few = ""
    if _decisions(before, targets)[1].all():
        few = (
            f"; {len(known)} texts without a mistake tell only that the scores "
            "may be high, not how high"
        )
    say(
        f"Temperature {temperature:.3f}: calibration error "
        f"{errors['before']:.4f} -> {errors['after']:.4f} on the validation "
        f"data{few}"
    )
    if problem == "multi_label":
        fitted = fit_thresholds(gold, after, labels)
        settings["thresholds"] = fitted.tolist()
    elif options.target_accuracy is not None:
        found["abstain_below"] = settings["abstain_below"] = _fit_abstention(
            *_decisions(after, targets), options.target_accuracy
        )
    return found


def _targets(gold, labels, problem):
    """Rows whose labels are known, and their class ids or 0s and 1s."""
    if problem == "regression":
        return np.zeros(0, int), None
    if problem == "multi_label":
        truth = np.array([[name in names for name in labels] for names in gold])
        return np.arange(len(gold)), truth.astype("int64")
    column = {label: i for i, label in enumerate(labels)}
    ids = np.array([column.get(label, -1) for label in gold], "int64")
    known = np.flatnonzero(ids >= 0)
    return known, ids[known]


def _decisions(chances, targets):
    """The probability of each decision, and whether it came true."""
    if targets.ndim == 2:
        return chances, targets
    return chances.max(axis=1), chances.argmax(axis=1) == targets


def _fit_abstention(confidence, right, wanted):
    threshold = fit_abstention(confidence, right, wanted)
    answered = confidence >= threshold
    if not answered.any():
        say(
            f"--target-accuracy {wanted:g}: no score of the validation data "
            "is right so often; texts get no answer."
        )
    else:
        say(
            f"No answer below a score of {threshold:.3f}: "
            f"{answered.mean():.1%} of the validation data are answered, "
            f"{right[answered].mean():.1%} of them right"
        )
    return threshold


def fit_temperature(
    logits_at: Callable[[float], np.ndarray], gold: np.ndarray, problem: str
) -> float:
    """The temperature at which the right labels are the most likely.

    The targets are not 0 and 1 but `1 / (n + 2)` from them, as of n texts
    nobody knows better: else the best temperature for validation data without
    a mistake would be 0.

    Args:
        logits_at: temperature -> logits (texts, classes).
        gold: class ids (texts,), or of several labels 0 or 1 (texts,
            classes).
        problem: `single_label` or `multi_label`.

    Returns:
        The divisor of the logits, in [0.05, 20].

    Reference:
        [Guo et al., 2017](https://arxiv.org/abs/1706.04599), 4.2;
        Platt, 1999, "Probabilistic Outputs for Support Vector Machines", 2.2
        (the targets)
    """

    def loss(log_temperature):
        chances = to_scores(logits_at(np.exp(log_temperature)), problem)
        return _negative_log_likelihood(chances, gold, problem)

    low, high = np.log(_COLDEST), np.log(_HOTTEST)
    # Golden-section search: the loss has one minimum.
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > 1e-4:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = loss(right)
    return float(np.exp((low + high) / 2))


def _negative_log_likelihood(chances, gold, problem):
    doubt = 1 / (len(gold) + 2)
    if problem == "multi_label":
        chances = np.clip(chances, 1e-12, 1 - 1e-12)
        target = np.where(gold > 0, 1 - doubt, doubt)
        yes, no = np.log(chances), np.log1p(-chances)
        return -(target * yes + (1 - target) * no).mean()
    logs = np.log(np.maximum(chances, 1e-12))
    right = logs[np.arange(len(gold)), gold]
    others = (logs.sum(axis=1) - right) / max(1, logs.shape[1] - 1)
    return -((1 - doubt) * right + doubt * others).mean()


def fit_abstention(
    confidence: np.ndarray, right: np.ndarray, wanted: float
) -> float:
    """The lowest score at which the answers are right often enough.

    Args:
        confidence: (texts,), the score of what was predicted.
        right: bool (texts,).
        wanted: share of the answers that shall be right.

    Returns:
        A threshold: texts with a score below it get no answer. 1 if no other
        gives the wanted accuracy.

    Reference:
        [Geifman and El-Yaniv, 2017](https://arxiv.org/abs/1705.08500)
        (selective classification)
    """
    order = np.argsort(-confidence, kind="stable")
    sorted_scores = confidence[order]
    answered = np.arange(1, len(order) + 1)
    accuracy = np.cumsum(right[order]) / answered
    # Equal scores are answered together.
    is_last = np.append(np.diff(sorted_scores) < 0, True)
    good = np.flatnonzero(is_last & (accuracy >= wanted))
    if not len(good):
        return 1.0
    if good[-1] + 1 == len(order):
        return 0.0
    # Half-way to the next lower score, so that it holds on new texts.
    return float(sorted_scores[good[-1] : good[-1] + 2].mean())
