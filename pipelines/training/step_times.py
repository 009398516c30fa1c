"""Where the time of a stage goes: compiling, reading batches, steps."""

import time

import keras
import numpy as np

# Batches that are read once more to see how long that takes.
_READ = 8


class StepTimes(keras.callbacks.Callback):
    """Takes the time of every training step.

    Args:
        batches: `Batches` or `WindowBatches`, whose plan says how long the
            rows of each step are.
    """

    def __init__(self, batches):
        super().__init__()
        self.batches = batches
        self.seconds, self.lengths = [], []

    def on_epoch_begin(self, epoch, logs=None):
        # Keras has made the plan of this epoch by now, and of no later one.
        self._plan = [max(1, length) for _, length in self.batches.plan]

    def on_train_batch_begin(self, batch, logs=None):
        self._start = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.seconds.append(time.perf_counter() - self._start)
        # The last update may be filled up with steps of weight 0.
        self.lengths.append(self._plan[min(batch, len(self._plan) - 1)])

    def compile_seconds(self) -> float | None:
        """What the first steps took beyond the others; None if all are first.

        Compiled are the first two steps (TensorFlow) and the first of each
        length (JAX). A step takes as long as its rows are.
        """
        seconds, lengths = np.array(self.seconds), np.array(self.lengths)
        is_first = self._is_first()
        if is_first.all():
            return None
        rate = np.median(seconds[~is_first] / lengths[~is_first])
        beyond = seconds[is_first] - rate * lengths[is_first]
        return round(float(np.maximum(0.0, beyond).sum()), 2)

    def input_share(self) -> float | None:
        """Time to read a batch, as a share of a step; over 1 it is too slow.

        None if all steps are first. Reads some batches once more; with
        TensorFlow another thread does so while the step before runs.
        """
        is_first = self._is_first()
        if is_first.all():
            return None
        start = time.perf_counter()
        count = min(_READ, len(self.batches))
        for number in range(count):
            self.batches[number]
        reading = (time.perf_counter() - start) / count
        step = float(np.median(np.array(self.seconds)[~is_first]))
        return round(reading / max(1e-9, step), 4)

    def _is_first(self):
        is_first = np.zeros(len(self.seconds), bool)
        is_first[np.unique(self.lengths, return_index=True)[1]] = True
        is_first[:2] = True
        return is_first
