"""What happens between two epochs: score, report, keep the best, stop."""

import time

import keras
import numpy as np

from pipelines.console import Progress, say
from pipelines.training.batching import predict_all


class Validation(keras.callbacks.Callback):
    """Scores the validation data after each epoch, keeps the best, stops.

    Args:
        part: the model that is trained.
        stage: `pipelines.training.stages.Stage`.
        done: epochs of earlier stages: Keras' number of the first epoch here.
        validation: `Inputs` of `part`.
        trainer: `pipelines.training.stages.Trainer`.
        best: `BestState`.

    Attributes:
        history: a dict of numbers for each epoch.
    """

    def __init__(self, part, stage, done, validation, trainer, best):
        super().__init__()
        self.part = part
        self.stage = stage
        self.done = done
        self.validation = validation
        self.trainer = trainer
        self.best = best
        self.history = []
        self.since_best = 0
        self.lowest_loss = np.inf
        self.told = -np.inf
        self.bar = None

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()
        number = epoch - self.done + 1
        title = f"{self.stage.name} epoch {number}/{self.stage.epochs}"
        self.bar = Progress(title, self.params["steps"])

    def on_train_batch_end(self, batch, logs=None):
        self.bar.add(1)

    def on_epoch_end(self, epoch, logs=None):
        self.bar.close()
        trained = time.perf_counter() - self.started
        outputs = predict_all(
            self.part, self.validation, self.trainer.batch_size
        )
        # The tables by class come once, at the end of the run.
        scores = {
            name: value
            for name, value in self.trainer.score(outputs).items()
            if isinstance(value, int | float)
        }
        number = epoch - self.done + 1
        metrics = {
            "epoch": number,
            "train_loss": float(logs["loss"]),
            **scores,
            "seconds": round(trained, 2),
        }
        self.history.append(metrics)
        # For the callbacks after this one, as if Keras had validated.
        logs.update({f"val_{name}": value for name, value in scores.items()})
        improved = self.best.offer(
            self.part,
            metrics,
            self.trainer.monitor,
            self.stage.name,
            number,
            outputs,
        )
        self._report(metrics, improved)
        # On little validation data the metric moves in steps; the loss tells
        # sooner that there is more to come.
        if improved or metrics["loss"] < self.lowest_loss:
            self.since_best = 0
        else:
            self.since_best += 1
        self.lowest_loss = min(self.lowest_loss, metrics["loss"])
        patience = self.stage.patience
        if patience is not None and self.since_best >= patience:
            self.model.stop_training = True

    def _report(self, metrics, improved):
        monitor = self.trainer.monitor
        if self.stage.patience is not None:
            # A long stage tells only of progress that one can see.
            if not improved or metrics[monitor] <= self.told:
                return
            self.told = metrics[monitor]
        say(
            f"  epoch {metrics['epoch']}: train loss "
            f"{metrics['train_loss']:.4f}, validation loss "
            f"{metrics['loss']:.4f}, {monitor} {metrics[monitor]:.4f}"
            + (" (best so far)" if improved else "")
        )
