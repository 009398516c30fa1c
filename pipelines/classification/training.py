"""Trains a classifier on texts that are tokenised already."""

import dataclasses
import functools
from collections.abc import Sequence

import keras
import numpy as np

from keras_encoder.losses import SmoothCrossentropy
from pipelines.classification import decisions
from pipelines.classification.calibration import fit_decisions
from pipelines.classification.learning_curve import (
    StatesOnce,
    curve_lines,
    curve_row,
    nested_rows,
    run_curve,
)
from pipelines.classification.outcome import text_outcome
from pipelines.classification.targets import make_targets
from pipelines.classification.texts import row_logits, text_logits
from pipelines.classification.windows import NONE, combine
from pipelines.console import say
from pipelines.data.sources import Splits
from pipelines.data.splits import classes_of
from pipelines.data.stored import labels_of
from pipelines.model_folder import FineTuned
from pipelines.options import ClassifyOptions
from pipelines.reports.outcome import Outcome
from pipelines.training.features import compute_states
from pipelines.training.inputs import Inputs
from pipelines.training.recipe import (
    Pretrained,
    make_stages,
    make_trainer,
)
from pipelines.training.stages import TrainingData, run_stages
from pipelines.training.updates import reduction

# The metric of the validation data that chooses the weights to keep.
MONITOR = {
    "single_label": "macro_f1",
    "multi_label": "macro_f1",
    "regression": "r2",
}


@dataclasses.dataclass(frozen=True)
class Task:
    """What is trained, on what, and how."""

    fine_tuned: FineTuned
    options: ClassifyOptions
    start: Pretrained
    splits: Splits
    weights: np.ndarray
    inputs: dict[str, Inputs]
    callbacks: Sequence[keras.callbacks.Callback] = ()


def train_curve(task, shares):
    """`train`, and then once more on each share of the data."""
    begin = task.fine_tuned.model.get_weights()
    texts = task.splits.train
    states = StatesOnce(task.inputs["train"])
    stages, best, scores, outcome = train(task, compute=states)

    def run(rows):
        inputs = {**task.inputs, "train": states.take(rows)}
        part = dataclasses.replace(
            task,
            splits=dataclasses.replace(task.splits, train=texts.take(rows)),
            weights=task.weights[rows],
            inputs=inputs,
            callbacks=(),
        )
        return train(part, compute=states)[2]

    rows = nested_rows(texts.labels, shares, task.options.seed)
    curve = run_curve(task.fine_tuned, begin, rows, run)
    curve.append(curve_row(1.0, len(texts), scores))
    say(*curve_lines(curve, MONITOR[task.options.problem]))
    return stages, best, {**scores, "learning_curve": curve}, outcome


def train(task, compute=compute_states):
    """Runs the stages and fits the decisions.

    Returns:
        The records of the stages, the best state, which is now the model's,
        the metrics (`calibration`, `validation`, `test`), and what was
        answered on the test data, or else on the validation data.
    """
    fine_tuned, options, start = task.fine_tuned, task.options, task.start
    splits, inputs = task.splits, task.inputs
    model, labels = fine_tuned.model, fine_tuned.labels
    targets = make_targets(options.problem, splits.train, labels)
    mean, deviation = 0.0, 1.0
    if options.problem == "regression":
        # A head learns these at the rates that suit classes; values of
        # hundreds it would never reach.
        mean, deviation = targets.mean(), targets.std() or 1.0
        targets = (targets - mean) / deviation
    classes = None
    if options.sampling == "balanced":
        classes = classes_of(splits.train.labels)
    gold = labels_of(splits.validation)

    def score(outputs):
        outputs = outputs * deviation + mean
        owners = inputs["validation"].owners
        outputs = text_logits(outputs, owners, fine_tuned.settings)
        scores = decisions.to_scores(outputs, options.problem)
        return decisions.score(gold, scores, labels, fine_tuned.settings)

    stages, best = run_stages(
        model,
        make_stages(options, start.is_random),
        TrainingData(inputs["train"], targets, task.weights, classes),
        inputs["validation"],
        make_trainer(
            options,
            loss=make_loss(options),
            score=score,
            monitor=MONITOR[options.problem],
            combine=functools.partial(
                combine, how=options.windows, problem=options.problem
            ),
            compute=compute,
            callbacks=task.callbacks,
        ),
        start.pooler_is_random,
    )
    kernel, bias = model.logits.get_weights()
    model.logits.set_weights([kernel * deviation, bias * deviation + mean])
    # Known from the best epoch; the model need not run once more.
    logits = best.outputs * deviation + mean
    owners, scores = inputs["validation"].owners, {}
    if fitted := fit_decisions(fine_tuned, logits, owners, gold, options):
        scores["calibration"] = fitted
        logits = logits / fitted["temperature"]
    scores["validation"], outcome = _judge(task, "validation", logits)
    if splits.test:
        logits = row_logits(fine_tuned, inputs["test"], options.batch_size)
        scores["test"], outcome = _judge(task, "test", logits)
    return stages, best, scores, outcome


def _judge(task, part, logits) -> tuple[dict, Outcome]:
    """Metrics of a split, and what its report shows, from logits by row."""
    settings = task.fine_tuned.settings
    logits = text_logits(logits, task.inputs[part].owners, settings)
    examples = getattr(task.splits, part)
    how = (
        decisions.to_scores(logits, settings["problem"]),
        task.fine_tuned.labels,
        settings,
    )
    found = decisions.score(labels_of(examples), *how)
    return found, text_outcome(part, examples, *how)


def make_loss(options: ClassifyOptions) -> keras.losses.Loss:
    """The loss of a problem, as a mean over the weights of the examples.

    Class weights, and the rows that fill up the last batch, change the
    divisor, too. With windows, or several steps an update, the weights
    themselves make it a mean (`WindowBatches`, `Updates`).
    """
    how = reduction(options.gradient_accumulation_steps)
    if options.windows != NONE:
        how = "sum_over_batch_size"
    if options.problem == "single_label":
        return SmoothCrossentropy(
            options.label_smoothing, options.focal, reduction=how
        )
    if options.problem == "regression":
        return keras.losses.MeanSquaredError(reduction=how)
    if options.focal:
        return keras.losses.BinaryFocalCrossentropy(
            gamma=options.focal,
            from_logits=True,
            label_smoothing=options.label_smoothing,
            reduction=how,
        )
    return keras.losses.BinaryCrossentropy(
        from_logits=True,
        label_smoothing=options.label_smoothing,
        reduction=how,
    )
