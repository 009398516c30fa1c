"""A tiny task with data, and scores as a script, to run stages on."""

import keras
import numpy as np

from keras_encoder.heads import SequenceClassifier
from pipelines.training.inputs import Inputs, Rows
from pipelines.training.stages import Stage, Trainer, TrainingData, run_stages
from tests.keras_encoder.fixed_weights import (
    VOCABULARY,
    set_sine_weights,
    tiny_encoder,
)

CLASSES, BATCH_SIZE = 3, 5
LENGTHS = np.array([3, 8, 2, 6, 8, 5, 7, 4, 8, 3, 6, 7])
LOSS = keras.losses.CategoricalCrossentropy(
    from_logits=True, reduction="mean_with_sample_weight"
)


def task_model(head=SequenceClassifier, **changes):
    keras.utils.set_random_seed(0)
    return set_sine_weights(head(tiny_encoder(**changes), CLASSES, dropout=0.0))


def inputs(lengths=LENGTHS):
    order = np.arange(lengths.sum())
    ids = (7 * order % VOCABULARY).astype("int32")
    return Inputs({"token_ids": Rows(ids, lengths)})


def training_data():
    targets = np.eye(CLASSES, dtype="float32")[np.arange(len(LENGTHS)) % 3]
    return TrainingData(inputs(), targets, np.ones(len(LENGTHS), "float32"))


def tagging_data():
    """A class for every token, by its place."""
    order = np.arange(LENGTHS.sum())
    targets = np.eye(CLASSES, dtype="float32")[order % 3]
    ones = np.ones(len(order), "float32")
    return TrainingData(inputs(), Rows(targets, LENGTHS), Rows(ones, LENGTHS))


def scripted(scores, losses=None):
    """A score function that gives these metrics, whatever the outputs."""
    script = iter(
        zip(scores, losses or [1.0 - 0.01 * i for i in range(99)], strict=False)
    )

    def score(outputs):
        assert len(outputs) == len(LENGTHS)
        metric, loss = next(script)
        return {"f1": metric, "loss": loss}

    return score


def trainer(score, **changes):
    arguments = dict(
        loss=LOSS, score=score, monitor="f1", batch_size=BATCH_SIZE, seed=1
    )
    return Trainer(**{**arguments, **changes})


class Recorder(keras.callbacks.Callback):
    """Keeps the task's weights and the optimizer's state over all stages."""

    def __init__(self, task):
        super().__init__()
        self.task = task
        self.begins = []  # weights before each stage
        self.epochs = []  # weights after each epoch
        self.optimizers = []
        self.iterations = []
        self.rates = []

    def on_train_begin(self, logs=None):
        self.begins.append(weights_of(self.task))
        self.optimizers.append(self.model.optimizer)
        self.iterations.append(int(self.model.optimizer.iterations.numpy()))
        self.rates.append(float(self.model.optimizer.learning_rate))

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(weights_of(self.task))


def weights_of(task):
    return {variable.path: variable.numpy() for variable in task.weights}


def moved(before, after):
    """Paths of the weights that are not bit-equal."""
    return {path for path in before if (before[path] != after[path]).any()}


def part_of(path):
    """`block_0`, `embeddings`, `pooler` or `logits`."""
    for name in ("embeddings", "block_0", "block_1", "pooler", "logits"):
        if f"{name}/" in path:
            return name
    raise AssertionError(path)


def adapt(task, score, epochs=20, patience=None, random_pooler=False, **more):
    return run_stages(
        task,
        [Stage("adapt", epochs, 0.01, blocks=0, patience=patience)],
        training_data(),
        inputs(),
        trainer(score, **more),
        random_pooler,
    )
