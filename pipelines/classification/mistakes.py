"""Where a classifier is wrong, the worst first."""

from collections.abc import Iterator, Sequence

import numpy as np

from pipelines.classification.decisions import decide
from pipelines.data.examples import TextExample
from pipelines.data.stored import labels_of


def text_mistakes(
    examples: Sequence[TextExample],
    scores: np.ndarray,
    labels: tuple[str, ...],
    settings: dict,
) -> Iterator[dict]:
    """Yields what was answered wrongly, by how much the model was wrong.

    Of one label a text that is the probability of the right one, the smallest
    first; of several labels the mean loss of all, of numbers the distance. A
    text without an answer is no mistake.

    Args:
        examples: labelled texts.
        scores: (texts, classes), from `to_scores`.
        labels: names in the order of the columns.
        settings: of the model folder.

    Yields:
        `text`, `text_pair` if there is one, `gold`, `predicted`, `score` (of
        the prediction; of several labels by name) and `gold_score` where one
        label is right, `where` the text stands and its `id` if it has one.
    """
    gold, problem = labels_of(examples), settings["problem"]
    badness = _badness(gold, scores, labels, problem)
    for row in np.argsort(-badness, kind="stable"):
        (answer,) = decide(scores[row : row + 1], labels, settings)
        result = _compare(gold[row], answer, problem)
        if result is not None:
            yield _named(examples[int(row)], result)


def _badness(gold, scores, labels, problem):
    if problem == "regression":
        return np.abs(np.array(gold) - scores[:, 0])
    if problem == "multi_label":
        truth = np.array([[name in names for name in labels] for names in gold])
        chances = np.where(truth, scores, 1 - scores)
        return -np.log(np.maximum(chances, 1e-12)).mean(axis=1)
    column = {label: i for i, label in enumerate(labels)}
    # No chance at all was given to a label that the model does not know.
    return -np.array(
        [
            row[column[label]] if label in column else 0.0
            for label, row in zip(gold, scores, strict=True)
        ]
    )


def _compare(gold, answer, problem):
    """What to tell of an answer; None if it is right."""
    if problem == "regression":
        value = answer["score"]
        return None if value == gold else {"gold": gold, "predicted": value}
    if problem == "multi_label":
        if set(answer["labels"]) == set(gold):
            return None
        return {
            "gold": list(gold),
            "predicted": answer["labels"],
            "score": answer["scores"],
        }
    if answer["label"] in (gold, None):
        return None
    return {
        "gold": gold,
        "predicted": answer["label"],
        "score": answer["score"],
        "gold_score": answer["scores"].get(gold, 0.0),
    }


def _named(example, result):
    texts = {"text": example.text}
    if example.text_pair is not None:
        texts["text_pair"] = example.text_pair
    result = {**texts, **result, "where": example.where}
    return result if example.id is None else {**result, "id": example.id}
