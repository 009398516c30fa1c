"""Freeze, adapt, unfreeze: the stages of a run, one after the other."""

import dataclasses
import time
from collections.abc import Callable, Sequence

import keras
import numpy as np

from keras_encoder.optimization import make_optimizer
from pipelines.console import Progress, say
from pipelines.data.scratch import where_kept
from pipelines.errors import RunFailed
from pipelines.training.batching import Batches
from pipelines.training.best_state import BestState, rank
from pipelines.training.features import (
    Above,
    Below,
    StandardisedHead,
    compute_states,
    head_features,
    kept_values,
)
from pipelines.training.freezing import (
    count_parameters,
    frozen_stay,
    set_trainable,
    unfreeze,
)
from pipelines.training.inputs import Inputs, Rows
from pipelines.training.step_times import StepTimes
from pipelines.training.updates import in_updates
from pipelines.training.validation import Validation
from pipelines.training.windows import Combined, WindowBatches


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stretch of training with one set of trainable weights.

    Attributes:
        name: for people.
        epochs: most epochs to train for.
        learning_rate: peak of the schedule.
        blocks: how many of the top blocks train beside the head; 0 trains
            the head alone, None everything.
        warmup: share of the steps before the peak.
        patience: epochs without improvement after which to stop; None never
            stops early.
        layer_decay: factor on the learning rate from each block to the one
            below.
    """

    name: str
    epochs: int
    learning_rate: float
    blocks: int | None = None
    warmup: float = 0.1
    patience: int | None = None
    layer_decay: float = 1.0


@dataclasses.dataclass(frozen=True)
class Trainer:
    """What all stages of a run share.

    Attributes:
        loss: Keras loss on logits; its mean must be over the weights, or
            over the batch where rows are windows (`WindowBatches`).
        score: (outputs by row) -> metrics of the validation data, a dict with
            `loss` and the metric named by `monitor`; larger is better.
        monitor: the metric that chooses the best state.
        combine: where rows are windows of texts, as in `Combined`.
        batch_size: examples a step.
        steps_per_update: steps whose gradients are added up; over 1 the loss
            must be a sum (`pipelines.training.updates`), unless rows are
            windows.
        weight_decay, clip_norm: as in `make_optimizer`.
        seed: of the shuffling.
        compute: in place of `compute_states`, where something is known
            already. What it returns is overwritten.
        callbacks: more Keras callbacks. Each stage is a `fit` of its own, of
            another model; its epochs go on counting, and its logs have the
            metrics of the validation data as `val_...`.
    """

    loss: keras.losses.Loss
    score: Callable[[np.ndarray | Rows], dict]
    monitor: str
    combine: Callable | None = None
    batch_size: int = 32
    steps_per_update: int = 1
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    seed: int = 42
    compute: Callable = compute_states
    callbacks: Sequence[keras.callbacks.Callback] = ()


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Inputs with their targets and the weight of each target.

    `classes` is None, or the class of each example: then an epoch has as many
    of each.
    """

    inputs: Inputs
    targets: np.ndarray | Rows
    weights: np.ndarray | Rows
    classes: np.ndarray | None = None


def run_stages(
    task,
    stages: list[Stage],
    data: TrainingData,
    validation: Inputs,
    trainer: Trainer,
    pooler_is_random: bool = False,
) -> tuple[list[dict], BestState]:
    """Trains a task model through the stages and leaves it at its best.

    Args:
        task: task model, such as `SequenceClassifier`.
        stages: what to train, in order.
        data: training data.
        validation: inputs of the validation data.
        trainer: what the stages share.
        pooler_is_random: the checkpoint had no pooler: never freeze it.

    Returns:
        A record of each stage (for `metrics.json`) and the best state.
    """
    best, records = BestState(), []
    for number, stage in enumerate(stages):
        if stage.epochs == 0:
            continue
        set_trainable(task, stage.blocks, pooler_is_random)
        done = sum(record["epochs"] for record in records)
        with frozen_stay(task, stage.name):
            record = _run_stage(
                task,
                stage,
                trainer.seed + number,
                done,
                data,
                validation,
                trainer,
                best,
            )
        records.append(record)
    unfreeze(task)
    if best.stage is None:
        raise RunFailed(
            f"No epoch gave a finite {trainer.monitor} and loss on the "
            "validation data; lower the learning rate."
        )
    return records, best


def _run_stage(
    task, stage, seed, done, data, validation, trainer, best
) -> dict:
    started = time.perf_counter()
    trainable = count_parameters(task.trainable_weights)
    say(
        f"Stage {stage.name}: {trainable:,} of "
        f"{count_parameters(task.weights):,} parameters train, "
        f"up to {stage.epochs} epochs at {stage.learning_rate:g}"
    )
    part, data, validation = _prepare(task, stage, data, validation, trainer)
    prepared = time.perf_counter() - started
    best.keep(part)
    batches = _make_batches(data, trainer, seed)
    fitted, fed = part, batches
    if data.inputs.owners is not None:
        fitted = Combined(part, trainer.combine)
    else:
        fed = in_updates(batches, trainer.steps_per_update)
    steps = trainer.steps_per_update * batches.steps_per_update
    _compile(fitted, stage, len(fed), steps, task, trainer)
    # Scores the windows one by one; whoever scores them combines them.
    watch = Validation(part, stage, done, validation, trainer, best)
    times = StepTimes(batches)
    fitted.fit(
        fed,
        initial_epoch=done,
        epochs=done + stage.epochs,
        shuffle=False,  # `Batches` does, and knows the right order
        verbose=0,
        callbacks=[times, watch, *trainer.callbacks],
    )
    best.restore(part)
    if isinstance(part, StandardisedHead):
        part.fold()
    return {
        "name": stage.name,
        "trainable_parameters": trainable,
        "epochs": len(watch.history),
        "learning_rate": stage.learning_rate,
        "seconds": round(time.perf_counter() - started, 2),
        "feature_seconds": round(prepared, 2),
        "compile_seconds": times.compile_seconds(),
        "input_share": times.input_share(),
        "padding_share": round(batches.padding_share, 4),
        "shapes": batches.shapes,
        "history": watch.history,
        "validation": max(
            watch.history, key=lambda metrics: rank(metrics, trainer.monitor)
        ),
    }


def _prepare(task, stage, data, validation, trainer):
    """The part of the model to train, with its data and validation inputs."""
    if stage.blocks is None:
        return task, data, validation
    cut = task.encoder.num_layers - stage.blocks
    below = Below(task, cut)
    rows = len(data.inputs) + len(validation)
    with Progress(f"{stage.name}: frozen part, once", rows) as progress:
        inputs, validation = (
            trainer.compute(below, some, trainer.batch_size, progress.add)
            for some in (data.inputs, validation)
        )
    kept = where_kept([kept_values(some) for some in (inputs, validation)])
    say(f"  what the frozen part gives is kept: {kept}")
    part = Above(task, cut)
    if stage.blocks == 0 and not task.encoder.pooler.trainable:
        inputs = head_features(task, inputs)
        part = StandardisedHead(task, inputs)
        part.unfold()
        inputs = part.standardise(inputs)
        validation = part.standardise(head_features(task, validation))
    return part, dataclasses.replace(data, inputs=inputs), validation


def _make_batches(data, trainer, seed):
    """Batches of rows, or of whole texts where rows are windows."""
    in_windows = data.inputs.owners is not None
    batches = (WindowBatches if in_windows else Batches)(
        data.inputs,
        data.targets,
        data.weights,
        trainer.batch_size,
        seed,
        classes=data.classes,
    )
    if batches.shapes is not None:
        say(
            f"  padded to {', '.join(map(str, batches.shapes))} tokens; "
            f"{batches.padding_share:.1%} of them are padding"
        )
    return batches


def _compile(part, stage, steps, steps_per_update, task, trainer):
    """A fresh optimizer and schedule: nothing carries over from a stage."""
    optimizer = make_optimizer(
        part.trainable_variables,
        stage.learning_rate,
        steps * stage.epochs,
        steps_per_update=steps_per_update,
        warmup=stage.warmup,
        weight_decay=trainer.weight_decay,
        clip_norm=trainer.clip_norm,
        layer_decay=stage.layer_decay,
        num_layers=task.encoder.num_layers,
        scale_loss=task.encoder.dtype_policy.name == "mixed_float16",
    )
    part.compile(optimizer=optimizer, loss=trainer.loss)
