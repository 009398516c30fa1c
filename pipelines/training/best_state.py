"""The best weights of all stages, kept outside the model."""

import numpy as np


def rank(metrics: dict, monitor: str) -> tuple[float, float]:
    """A key that is larger for better metrics."""
    key = (metrics[monitor], -metrics["loss"])
    # A network of NaNs still names a class, so its metric is a number.
    return (-np.inf, -np.inf) if np.isnan(key).any() else key


class BestState:
    """The weights with the best validation metric of all stages so far.

    Higher metric is better; at equal metric, lower loss. Between stages the
    model is always in this state.

    Attributes:
        stage, epoch: where it was reached; None where it never was.
        outputs: what the model gave for each row of the validation data.
    """

    def __init__(self):
        self.key = (-np.inf, -np.inf)
        self.stage = None
        self.epoch = None
        self.outputs = None
        self._values = {}

    def offer(
        self, model, metrics, monitor, stage, epoch, outputs=None
    ) -> bool:
        """Keeps the model's weights if the metrics are the best so far."""
        key = rank(metrics, monitor)
        if key <= self.key:
            return False
        self.key, self.stage, self.epoch = key, stage, epoch
        self.outputs = outputs
        self.keep(model)
        return True

    def keep(self, model):
        """Copies the trainable weights, which alone can have changed."""
        for variable in model.trainable_variables:
            self._values[variable.path] = variable.numpy()

    def restore(self, model):
        """Puts the kept weights back."""
        for variable in model.trainable_variables:
            variable.assign(self._values[variable.path])
