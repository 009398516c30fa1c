"""Labels as a loss wants them, and what each text counts in it."""

import collections

import numpy as np

from pipelines.data.stored import labels_of
from pipelines.errors import InputError
from pipelines.training.class_weights import weights_by_label


def make_targets(problem, examples, labels):
    """Class ids (rows,); or multi-hot, or the value, (rows, classes)."""
    column = {label: i for i, label in enumerate(labels)}
    found = labels_of(examples)
    if problem == "single_label":
        return np.array([column[label] for label in found], "int32")
    if problem == "regression":
        return np.array(found, "float32")[:, None]
    targets = np.zeros((len(found), len(labels)), "float32")
    for row, names in zip(targets, found, strict=True):
        row[[column[name] for name in names]] = 1.0
    return targets


def example_weights(options, examples, labels):
    """float32 (rows,): 1, or the weight of the example's class."""
    if options.problem == "single_label":
        found = labels_of(examples)
        by_label = weights_by_label(
            options.class_weights, labels, collections.Counter(found)
        )
        return np.array([by_label[label] for label in found], "float32")
    if options.class_weights is not None:
        raise InputError(
            "--class-weights: only for --problem single_label, found "
            f"{options.problem}."
        )
    return np.ones(len(examples), "float32")
