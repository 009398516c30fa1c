"""Updates of more examples than a step has room for."""

import keras

from pipelines.training.batching import reading_threads


def reduction(steps: int) -> str:
    """Keras' name of what a loss does with the weights of `Updates`.

    Args:
        steps: batches an update; 1: batches that are no `Updates`.
    """
    return "sum" if steps > 1 else "mean_with_sample_weight"


class Updates(keras.utils.PyDataset):
    """Batches that share an update: as many in a row as `steps`.

    The optimizer takes the mean of their gradients. Weights are scaled so
    that, with losses that are sums over a batch, it is the gradient of the
    mean over all that counts in these batches: that of one large batch,
    however little counts in some of them.

    Args:
        batches: `PyDataset` of (inputs, targets, weights), where a batch
            depends on its number and the epoch alone. Of several outputs,
            weights are a dict.
        steps: int. The last update of an epoch is filled up with batches of
            weight 0.
    """

    def __init__(self, batches, steps):
        super().__init__(workers=reading_threads())
        self.batches = batches
        self.steps = steps
        self._totals = {}

    def on_epoch_end(self):
        self.batches.on_epoch_end()
        self._totals.clear()

    def __len__(self):
        return -(-len(self.batches) // self.steps) * self.steps

    def __getitem__(self, index):
        update = index // self.steps
        if update not in self._totals:
            self._totals[update] = self._total(update * self.steps)
        last = len(self.batches) - 1
        factor = self.steps if index <= last else 0.0
        inputs, targets, weights = self.batches[min(index, last)]
        weights = keras.tree.map_structure(
            lambda some, total: some * (factor / max(total, 1e-12)),
            weights,
            self._totals[update],
        )
        return inputs, targets, weights

    def _total(self, first):
        """The sum of the weights of the batches from `first` on."""
        stop = min(first + self.steps, len(self.batches))
        weights = [self.batches[index][2] for index in range(first, stop)]
        return keras.tree.map_structure(
            lambda *some: float(sum(part.sum() for part in some)), *weights
        )
