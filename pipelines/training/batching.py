"""Rows of different length -> batches of few shapes and little padding."""

import weakref
from collections.abc import Iterator

import keras
import numpy as np

from pipelines.data.scratch import empty_array
from pipelines.training.inputs import Inputs, Rows
from pipelines.training.sampling import draw_rows

# Each shape is one compiled program on JAX and XLA.
MAX_SHAPES = 8
# JAX compiles a training step for as long as it takes some batches: a shape
# for fewer would save less padding than it costs.
BATCHES_A_SHAPE = 6
# Other lengths than those that are compiled must save so much.
_WORTH_COMPILING = 1.1
# Rows are sorted by length inside groups of so many batches: enough to pad
# little, few enough that every epoch mixes the rows anew.
GROUP = 50
# The lengths that a model predicted with last.
_COMPILED = weakref.WeakKeyDictionary()


def reading_threads() -> int:
    """How many threads of Keras read the training batches; 1 is the caller's.

    With one, tf.data tunes itself in a thread that sleeps longer and longer,
    and the end of a `fit` may wait until that wakes up: as long as an epoch
    took, up to a minute. With more, Keras turns that off; the order of the
    batches is the same.
    """
    return 2 if keras.backend.backend() == "tensorflow" else 1


def choose_lengths(
    lengths: np.ndarray, most: int = MAX_SHAPES, longest: int | None = None
) -> list[int]:
    """The at most `most` padded lengths that waste the fewest tokens.

    Exact, by dynamic programming over the distinct lengths (in steps of 8).

    Args:
        lengths: int array, the length of each row.
        most: how many different shapes may be compiled.
        longest: no shape is longer than this.

    Returns:
        Increasing list; the last one is at least the longest row.
    """
    rounded = np.maximum(8, -(-np.asarray(lengths) // 8) * 8)
    if longest is not None:
        rounded = np.minimum(rounded, longest)
    sizes, counts = np.unique(rounded, return_counts=True)
    rows = np.concatenate([[0], np.cumsum(counts)])
    # cost[j]: fewest padded tokens for the rows up to size j.
    cost = np.concatenate([[0], np.full(len(sizes), np.inf)])
    choices = []
    for _ in range(min(most, len(sizes))):
        # Rows of sizes i..j-1 share the length sizes[j - 1].
        table = cost[:, None] + (rows[None, 1:] - rows[:, None]) * sizes[None]
        table[np.tril_indices(len(sizes) + 1, -1, len(sizes))] = np.inf
        choice = np.argmin(table, axis=0)
        choices.append(choice)
        cost = np.concatenate([[0], table[choice, np.arange(len(sizes))]])
    chosen, end = [], len(sizes)
    for choice in reversed(choices):
        if end == 0:
            break
        chosen.append(int(sizes[end - 1]))
        end = int(choice[end - 1])
    return sorted(set(chosen))


def padded_lengths(
    inputs: Inputs, batch_size: int, known: list[int] | None = None
) -> list[int]:
    """The lengths to pad inputs to: few where each is expensive.

    Args:
        inputs: with lengths.
        batch_size: int.
        known: lengths that are compiled already: they are taken again unless
            others save a tenth of the tokens.
    """
    most = MAX_SHAPES
    if keras.backend.backend() == "jax":
        batches = len(inputs) // max(1, batch_size)
        most = min(most, max(1, batches // BATCHES_A_SHAPE))
    lengths = inputs.lengths
    best = choose_lengths(lengths, most, inputs.longest)
    if known and known[-1] >= best[-1]:
        tokens, fewest = (
            np.take(some, np.searchsorted(some, lengths)).sum()
            for some in (known, best)
        )
        if tokens <= _WORTH_COMPILING * fewest:
            return known
    return best


def plan_batches(
    lengths: np.ndarray | None,
    num_rows: int,
    batch_size: int,
    shapes: list[int],
    generator: np.random.Generator | None = None,
) -> list[tuple[np.ndarray, int]]:
    """Groups rows of similar length.

    Args:
        lengths: int array (rows,), or None where rows need no padding.
        num_rows: int.
        batch_size: int.
        shapes: the padded lengths, from `choose_lengths`.
        generator: shuffles the rows and the batches; None keeps everything
            sorted by length.

    Returns:
        List of (row indices, padded length). The longest shape comes first,
        so that a lack of memory shows at once, then the shortest: Keras'
        TensorFlow trainer takes the axes that may vary from two batches.
    """
    order = np.arange(num_rows)
    if generator is not None:
        order = generator.permutation(order)
    if lengths is None:
        starts = range(0, num_rows, batch_size)
        return [(order[i : i + batch_size], 0) for i in starts]

    group = num_rows if generator is None else GROUP * batch_size
    batches = []
    for start in range(0, num_rows, group):
        rows = order[start : start + group]
        rows = rows[np.argsort(-lengths[rows], kind="stable")]
        for i in range(0, len(rows), batch_size):
            batch = rows[i : i + batch_size]
            place = np.searchsorted(shapes, lengths[batch].max())
            batches.append((batch, shapes[place]))
    if generator is not None:
        batches = [batches[i] for i in generator.permutation(len(batches))]
    by_length = sorted(range(len(batches)), key=lambda i: -batches[i][1])
    first_two = dict.fromkeys([by_length[0], by_length[-1]])
    rest = [i for i in range(len(batches)) if i not in first_two]
    return [batches[i] for i in (*first_two, *rest)]


class Batches(keras.utils.PyDataset):
    """Training batches, shuffled anew each epoch, all of one size.

    The last batch is filled up with rows of weight 0, so that it needs no
    program of its own.

    Args:
        inputs: `Inputs`.
        targets: array (rows, ...) or `Rows`.
        weights: array (rows,) or `Rows`: the weight of each target.
        batch_size: int.
        seed: int.
        shapes: padded lengths; None chooses them from the rows.
        classes: as in `draw_rows`.
    """

    steps_per_update = 1

    def __init__(
        self,
        inputs,
        targets,
        weights,
        batch_size,
        seed,
        shapes=None,
        classes=None,
    ):
        super().__init__(workers=reading_threads())
        self.inputs = inputs
        self.targets = targets
        self.weights = weights
        self.classes = classes
        self.batch_size = min(batch_size, len(inputs))
        self.generator = np.random.default_rng(seed)
        self.shapes = shapes
        if shapes is None and inputs.lengths is not None:
            self.shapes = padded_lengths(inputs, self.batch_size)
        self.on_epoch_end()

    def on_epoch_end(self):
        rows = draw_rows(len(self.inputs), self.classes, self.generator)
        lengths = self.inputs.lengths
        plan = plan_batches(
            None if lengths is None else lengths[rows],
            len(rows),
            self.batch_size,
            self.shapes,
            self.generator,
        )
        self.plan = [(rows[some], length) for some, length in plan]

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, index):
        rows, length = self.plan[index]
        missing = self.batch_size - len(rows)
        padded = np.concatenate([rows, np.repeat(rows[:1], missing)])
        weights = _take(self.weights, padded, length).astype("float32")
        weights[len(rows) :] = 0
        return (
            self.inputs.batch(padded, length),
            _take(self.targets, padded, length),
            weights,
        )

    @property
    def padding_share(self) -> float:
        """Share of the tokens of this epoch that are padding."""
        if self.inputs.lengths is None:
            return 0.0
        padded = sum(self.batch_size * length for _, length in self.plan)
        tokens = sum(self.inputs.lengths[rows].sum() for rows, _ in self.plan)
        return 1.0 - float(tokens) / padded


def predict_rows(
    model, inputs: Inputs, batch_size: int, progress=None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Runs a model over all rows, batched by length.

    Args:
        model: `keras.Model` that takes a batch of `inputs`.
        inputs: `Inputs`.
        batch_size: int.
        progress: None, or called with the number of rows done.

    Yields:
        (row indices, outputs of these rows as an array). Every row comes
        once; the order is by length.
    """
    batch_size = min(batch_size, len(inputs))
    lengths = inputs.lengths
    shapes = None
    if lengths is not None:
        shapes = padded_lengths(inputs, batch_size, _COMPILED.get(model))
        _COMPILED[model] = shapes
    for rows, length in plan_batches(lengths, len(inputs), batch_size, shapes):
        missing = batch_size - len(rows)
        padded = np.concatenate([rows, np.repeat(rows[:1], missing)])
        outputs = model.predict_on_batch(inputs.batch(padded, length))
        yield rows, np.asarray(outputs)[: len(rows)]
        if progress is not None:
            progress(len(rows))


def predict_all(
    model, inputs: Inputs, batch_size: int, progress=None
) -> np.ndarray | Rows:
    """`predict_rows` in the order of the rows, on disk where it is large.

    Returns:
        An array (rows, ...); or `Rows`, without padding, where the model has
        an output for each token.
    """
    lengths, ends, kept = inputs.lengths, None, None
    for rows, some in predict_rows(model, inputs, batch_size, progress):
        if kept is None:
            shape = (len(inputs), *some.shape[1:])
            # A row has [CLS] and [SEP]; an axis of 1 is the first token.
            if some.ndim > 2 and some.shape[1] > 1:
                ends = np.cumsum(lengths)
                shape = (int(ends[-1]), *some.shape[2:])
            kept = empty_array(shape)
        if ends is None:
            kept[rows] = some
            continue
        for row, padded in zip(rows, some, strict=True):
            length = lengths[row]
            kept[ends[row] - length : ends[row]] = padded[:length]
    return kept if ends is None else Rows(kept, lengths)


def _take(column, indices, length):
    if isinstance(column, Rows):
        return column.pad(indices, length)
    return column[indices]
