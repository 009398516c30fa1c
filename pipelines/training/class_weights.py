"""What each label weighs in the loss."""

import csv
from collections.abc import Mapping

from pipelines.errors import InputError


def weights_by_label(
    class_weights: str | None,
    labels: tuple[str, ...],
    counts: Mapping[str, int],
) -> dict[str, float]:
    """The weight of each label in the loss.

    Args:
        class_weights: None (all 1), `balanced` (rows / (labels * rows of the
            label)) or `LABEL=WEIGHT` pairs parted by commas, in double
            quotes where a label has a comma; labels without a pair have 1.
        labels: all labels.
        counts: rows or words of the training data by label.
    """
    weights = dict.fromkeys(labels, 1.0)
    if class_weights is None:
        return weights
    if class_weights == "balanced":
        total = sum(counts.values())
        return {
            label: total / (len(labels) * counts[label])
            for label in labels
            if counts.get(label)
        }
    for pair in _pairs(class_weights):
        name, _, value = pair.rpartition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if name.strip() not in weights or not 0 < weight < float("inf"):
            raise InputError(
                "--class-weights: expected balanced or LABEL=WEIGHT pairs, "
                f"labels {', '.join(labels)}; found {pair!r}."
            )
        weights[name.strip()] = weight
    return weights


def _pairs(text: str) -> list[str]:
    """Parts a text at its commas as a line of CSV: quotes keep one."""
    try:
        (pairs,) = csv.reader([text], skipinitialspace=True)
    except (csv.Error, ValueError):  # a line break outside quotes
        pairs = []
    return pairs or [text]
