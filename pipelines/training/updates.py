"""Updates of more examples than a step has room for."""

import functools

import keras

from pipelines.training.batching import reading_threads

# Batches are asked for in order, but by more than one thread.
_KEPT_UPDATES = 4


def reduction(steps: int) -> str:
    """Keras' name of what a loss does with the weights of `in_updates`.

    Args:
        steps: batches an update.
    """
    return "sum" if steps > 1 else "mean_with_sample_weight"


def in_updates(batches: keras.utils.PyDataset, steps: int):
    """`Updates` of batches; with one step an update, the batches themselves."""
    return Updates(batches, steps) if steps > 1 else batches


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
        self._update = functools.lru_cache(_KEPT_UPDATES)(self._make_update)

    def on_epoch_end(self):
        self.batches.on_epoch_end()
        self._update.cache_clear()

    def __len__(self):
        return -(-len(self.batches) // self.steps) * self.steps

    def __getitem__(self, index):
        update, place = divmod(index, self.steps)
        return self._update(update)[place]

    def _make_update(self, number):
        """The batches of an update, each read once."""
        numbers = range(number * self.steps, (number + 1) * self.steps)
        last = len(self.batches) - 1
        made = [self.batches[i] for i in numbers if i <= last]
        totals = keras.tree.map_structure(
            lambda *some: max(float(sum(w.sum() for w in some)), 1e-12),
            *(weights for _, _, weights in made),
        )

        def scaled(batch, factor):
            inputs, targets, weights = batch
            weights = keras.tree.map_structure(
                lambda some, total: some * (factor / total), weights, totals
            )
            return inputs, targets, weights

        missing = self.steps - len(made)
        filled = [scaled(made[-1], 0.0)] * missing
        return [*(scaled(batch, self.steps) for batch in made), *filled]
