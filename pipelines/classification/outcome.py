"""What a classifier answered on labelled texts: right, sure, mistaken."""

import itertools
from collections.abc import Sequence

import numpy as np

from pipelines.classification.mistakes import text_mistakes
from pipelines.data.examples import TextExample
from pipelines.data.labels import names_in
from pipelines.data.stored import labels_of
from pipelines.reports.outcome import SHOWN, Outcome


def text_outcome(
    part: str,
    examples: Sequence[TextExample],
    scores: np.ndarray,
    labels: tuple[str, ...],
    settings: dict,
) -> Outcome:
    """The answers to labelled texts.

    Args:
        part: `test` or `validation`.
        examples: the texts; only those that are quoted are read.
        scores: (texts, classes), from `decisions.to_scores`.
        labels: names in the order of the columns.
        settings: of the model folder.
    """
    gold = labels_of(examples)
    mistakes = text_mistakes(examples, scores, labels, settings)
    worst = list(itertools.islice(mistakes, SHOWN))
    if settings["problem"] == "regression":
        return Outcome(part, worst, values=(np.array(gold), scores[:, 0]))
    truth = np.array([[name in names_in(g) for name in labels] for g in gold])
    if settings["problem"] == "multi_label":
        return Outcome(part, worst, scores.ravel(), truth.ravel())
    chosen = scores.argmax(axis=1)
    right = truth[np.arange(len(truth)), chosen]
    return Outcome(part, worst, scores.max(axis=1), right)
