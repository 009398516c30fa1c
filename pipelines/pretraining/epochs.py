"""What is measured in each epoch of pretraining, told and kept."""

import time

import keras

from keras_encoder.heads import Pretraining
from pipelines.console import Progress, say

TASKS = ("masked_lm", "next_sentence")
_LOSS, _ACCURACY = "crossentropy", "accuracy"


def weighted_metrics(model):
    """Metrics for `compile`: means over what counts, not over batches.

    Args:
        model: `MaskedLM` or `Pretraining`.

    Returns:
        A list, or for `Pretraining` a dict of lists. In the logs they are
        called `masked_lm_crossentropy` and so on.
    """

    def make(prefix=""):
        return [
            keras.metrics.SparseCategoricalCrossentropy(
                from_logits=True, name=prefix + _LOSS
            ),
            keras.metrics.SparseCategoricalAccuracy(name=prefix + _ACCURACY),
        ]

    if isinstance(model, Pretraining):
        return {task: make() for task in TASKS}
    return make(f"{TASKS[0]}_")


class PretrainEpochs(keras.callbacks.Callback):
    """Tells loss and accuracy of each task, keeps the best epoch.

    Best is the lowest sum of the losses on the held-out text.

    Args:
        epochs: how many there will be.
        best: `BestState`.

    Attributes:
        history: a dict of numbers for each epoch; those of the training text
            begin with `train_`.
    """

    def __init__(self, epochs, best):
        super().__init__()
        self.epochs = epochs
        self.best = best
        self.history = []
        self.bar = None

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()
        title = f"pretrain epoch {epoch + 1}/{self.epochs}"
        self.bar = Progress(title, self.params["steps"])

    def on_train_batch_end(self, batch, logs=None):
        self.bar.add(1)

    def on_epoch_end(self, epoch, logs=None):
        self.bar.close()
        metrics, losses = {"epoch": epoch + 1}, {}
        for kind, prefix in (("train_", ""), ("", "val_")):
            tasks = [t for t in TASKS if f"{prefix}{t}_{_LOSS}" in logs]
            for task in tasks:
                loss = float(logs[f"{prefix}{task}_{_LOSS}"])
                metrics[f"{kind}{task}_loss"] = loss
                metrics[f"{kind}{task}_accuracy"] = float(
                    logs[f"{prefix}{task}_{_ACCURACY}"]
                )
                losses[kind] = losses.get(kind, 0.0) + loss
            metrics[f"{kind}loss"] = losses[kind]
        metrics["seconds"] = round(time.perf_counter() - self.started, 2)
        self.history.append(metrics)
        # For the callbacks after this one: with several steps an update,
        # Keras' own are sums.
        logs.update(loss=metrics["train_loss"], val_loss=metrics["loss"])
        improved = self.best.offer(
            self.model,
            {"loss": metrics["loss"], "score": -metrics["loss"]},
            "score",
            "pretrain",
            epoch + 1,
        )
        self._report(metrics, tasks, improved)

    def _report(self, metrics, tasks, improved):
        told = [
            f"{task.replace('_', ' ')} loss {metrics[f'train_{task}_loss']:.4f}"
            f" (held out {metrics[f'{task}_loss']:.4f}), accuracy "
            f"{metrics[f'train_{task}_accuracy']:.4f} "
            f"({metrics[f'{task}_accuracy']:.4f})"
            for task in tasks
        ]
        say(
            f"  epoch {metrics['epoch']}: {'; '.join(told)}"
            + (" (best so far)" if improved else "")
        )
