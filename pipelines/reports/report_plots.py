"""Which pictures the report of a run has, each with its words."""

import math

from pipelines.classification.metrics import calibration_error, reliability
from pipelines.plots import runs
from pipelines.plots import scores as plots
from pipelines.reports.markup import (
    Html,
    number,
    paragraph,
    picture,
    pictures,
    section,
)
from pipelines.reports.outcome import Outcome
from pipelines.reports.verdict import Verdict

# Names that a picture has room for.
_MOST = 30
# Shown beside the losses, the first of them that the history has two of.
_METRICS = {
    "accuracy": "accuracy",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "f1": "entity F1",
    "macro_token_f1": "macro token F1",
    "r2": "R²",
    "masked_lm_accuracy": "masked LM accuracy",
    "next_sentence_accuracy": "next sentence accuracy",
}


def curves(metrics: dict, judged: Verdict) -> list[Html]:
    """Losses and scores by epoch."""
    stages, best = metrics["stages"], metrics["best"]
    history = [row for stage in stages for row in stage["history"]]
    losses = {"train_loss": "training", "loss": "validation"}
    baseline = None
    if "unigram_entropy" in metrics:
        losses = {
            "train_masked_lm_loss": "training",
            "masked_lm_loss": "held out",
        }
        baseline = "token frequencies", metrics["unigram_entropy"]
    figure = runs.learning_curves(stages, losses, best, "loss", baseline)
    drawn = [picture(figure, "Loss of training and validation data by epoch")]
    names = {k: v for k, v in _METRICS.items() if k in history[0]}
    if names:
        level = None
        if judged.metric in names and not judged.lower_is_better:
            level = "baseline", judged.baseline
        figure = runs.learning_curves(
            stages, names, best, "validation scores", level
        )
        drawn.append(picture(figure, "Validation scores by epoch"))
    drawn += _by_size(metrics, judged)
    lost = sum(not math.isfinite(_value(row, "loss")) for row in history)
    note = Html("")
    if lost:
        note = paragraph(
            f"{lost} of {len(history)} epochs had a loss that is not finite; "
            "their weights were not kept."
        )
    return [pictures(*drawn), note]


def _by_size(metrics, judged):
    """The recipe on shares of the data, if it was asked for."""
    rows = metrics.get("learning_curve", ())
    keys = {f"{p}_{judged.metric}": p for p in ("validation", "test")}
    keys = {k: v for k, v in keys.items() if rows and k in rows[0]}
    if not keys:
        return []
    figure = runs.data_curve(rows, keys, f"{judged.name} by training data")
    return [picture(figure, "Scores by the size of the training data")]


def class_pictures(scores: dict, rows: dict) -> list[Html]:
    """F1 by name and, of a classifier, the confusion matrix."""
    drawn = []
    labels = scores.get("confusion_labels", ())
    if 0 < len(labels) <= _MOST:
        figure = plots.confusion_matrix(
            scores["confusion_matrix"], labels, "texts by true and predicted"
        )
        drawn.append(picture(figure, "Confusion matrix"))
    if len(rows) <= _MOST:
        f1 = {name: row["f1"] for name, row in rows.items()}
        drawn.append(picture(plots.score_bars(f1, "F1"), "F1 by name"))
    return drawn


def calibration(metrics: dict, outcome: Outcome | None) -> list[Html]:
    """A section: do probabilities mean what they say; or true by predicted."""
    if outcome is None:
        return []
    if outcome.values is not None:
        drawn = picture(plots.scatter(*outcome.values), "Predicted by true")
        return [section("True and predicted numbers", pictures(drawn))]
    if outcome.confidences is None or not len(outcome.confidences):
        return []
    answers = outcome.confidences, outcome.right
    error, bins = calibration_error(*answers), reliability(*answers)
    told = paragraph(
        f"Expected calibration error {number(error)} on the {outcome.part} "
        "data: how far, on average, the probability of an answer lies from "
        "the share of such answers that are right."
    )
    drawn = picture(plots.reliability_diagram(bins), "Reliability diagram")
    fitted = _fitted(metrics.get("calibration"))
    return [section("Calibration", told, fitted, pictures(drawn))]


def _fitted(found: dict | None) -> Html:
    if not found:
        return Html("")
    errors, abstain = found["calibration_error"], found.get("abstain_below")
    silence = ""
    if abstain is not None:
        silence = f" No answer is given below a score of {abstain:.3f}."
    return paragraph(
        f"A temperature of {found['temperature']:.3f}, fitted on the "
        f"validation data, took it there from {number(errors['before'])} to "
        f"{number(errors['after'])}; the weights that are saved have it."
        + silence
    )


def _value(row, key):
    value = row.get(key)
    return math.nan if value is None else value
