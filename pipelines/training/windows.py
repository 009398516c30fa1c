"""Training on texts of several windows: whole texts a batch, one loss a text.

A step takes as many windows as a batch has room for, so that a text of forty
windows needs no more memory than forty short texts; the optimizer adds up as
many steps as hold a batch of texts before it moves.
"""

import keras
import numpy as np

from pipelines.training.batching import (
    choose_lengths,
    plan_batches,
    reading_threads,
)
from pipelines.training.sampling import draw_rows


class Combined(keras.Model):
    """A model of windows as a model of texts: the logits of a whole text.

    Args:
        part: model that takes a batch of windows.
        combine: (logits (windows, classes), owners (windows,), number of
            texts) -> logits (texts, classes).
    """

    def __init__(self, part, combine):
        super().__init__()
        self.part = part
        self.combine = combine
        self.built = True

    def call(self, inputs, training=None):
        owners = inputs["owners"]
        windows = {k: v for k, v in inputs.items() if k != "owners"}
        logits = self.part(windows, training=training)
        return self.combine(logits, owners, keras.ops.shape(owners)[0])


class WindowBatches(keras.utils.PyDataset):
    """Training batches of whole texts, each of one or more windows.

    All batches have `batch_size` windows and room for as many texts; what is
    empty has weight 0. A text with more windows than that is trained on a
    part of them, drawn anew each time.

    The weights are scaled so that the mean over the `batch_size` places of a
    batch (Keras' `sum_over_batch_size`), averaged over all batches, is the
    mean over the weights of the texts: each text counts the same, whether it
    shares its batch with many or with none.

    Args:
        inputs: `Inputs` with `owners`.
        targets: array (texts, ...).
        weights: array (texts,).
        batch_size: int. Windows a step, and texts an update.
        seed: int.
        classes: as in `draw_rows`, of the texts.

    Attributes:
        steps_per_update: batches that hold `batch_size` texts on average.
    """

    def __init__(
        self, inputs, targets, weights, batch_size, seed, classes=None
    ):
        super().__init__(workers=reading_threads())
        self.inputs = inputs
        self.targets = targets
        self.classes = classes
        self.batch_size = min(batch_size, len(inputs))
        self.generator = np.random.default_rng(seed)
        # Not one generator for the batches: threads read them in any order.
        self.seed, self.epoch = seed, -1
        self.windows = np.bincount(inputs.owners)
        self.starts = np.cumsum(self.windows) - self.windows
        self.lengths, self.shapes = None, None
        if inputs.lengths is not None:
            self.lengths = np.maximum.reduceat(inputs.lengths, self.starts)
            self.shapes = choose_lengths(self.lengths, longest=inputs.longest)
        self.plan = None
        self.on_epoch_end()
        num_texts = len(self.windows)
        texts = min(batch_size, num_texts) * len(self.plan) / num_texts
        self.steps_per_update = max(1, round(texts))
        places = self.batch_size * len(self.plan)
        self.weights = weights * (places / max(1e-12, float(weights.sum())))

    def on_epoch_end(self):
        self.epoch += 1
        texts = draw_rows(len(self.windows), self.classes, self.generator)
        plan = plan_texts(
            self.windows[texts],
            None if self.lengths is None else self.lengths[texts],
            self.batch_size,
            self.shapes,
            self.generator,
        )
        plan = [(texts[some], length) for some, length in plan]
        if self.plan is not None:
            # Other texts have other windows, but Keras asks only once how
            # many batches there are.
            missing = max(0, len(self.plan) - len(plan))
            again = self.generator.integers(len(plan), size=missing)
            plan = [*plan, *(plan[i] for i in again)][: len(self.plan)]
        self.plan = plan

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, index):
        texts, length = self.plan[index]
        generator = np.random.default_rng((self.seed, self.epoch, index))
        rows, owners = [], []
        for place, text in enumerate(texts):
            some = np.arange(self.windows[text])
            if len(some) > self.batch_size:
                some = generator.permutation(some)[: self.batch_size]
            rows.append(self.starts[text] + some)
            owners.append(np.full(len(some), place))
        rows, owners = np.concatenate(rows), np.concatenate(owners)
        # Windows are left over only where there are fewer texts than places.
        missing = self.batch_size - len(rows)
        rows = np.concatenate([rows, np.repeat(rows[:1], missing)])
        owners = np.concatenate([owners, np.full(missing, len(texts))])
        batch = self.inputs.batch(rows, length)
        batch["owners"] = owners.astype("int32")
        missing = self.batch_size - len(texts)
        padded = np.concatenate([texts, np.repeat(texts[:1], missing)])
        weights = self.weights[padded].astype("float32")
        weights[len(texts) :] = 0
        return batch, self.targets[padded], weights

    @property
    def padding_share(self) -> float:
        """Share of the tokens of an epoch that are padding."""
        if self.lengths is None:
            return 0.0
        padded = sum(self.batch_size * length for _, length in self.plan)
        # Of a text with too many windows, all of one length.
        used = np.minimum(self.windows, self.batch_size) / self.windows
        tokens = np.add.reduceat(self.inputs.lengths, self.starts) * used
        read = sum(tokens[texts].sum() for texts, _ in self.plan)
        return 1.0 - float(read) / padded


def plan_texts(
    windows: np.ndarray,
    lengths: np.ndarray | None,
    batch_size: int,
    shapes: list[int] | None,
    generator: np.random.Generator,
) -> list[tuple[np.ndarray, int]]:
    """Groups texts so that the windows of a batch fit into `batch_size`.

    Best-fit decreasing: the texts of most windows first, each into the batch
    that it fills best. Texts of one window fill what is left; the rest of
    those is batched by length. So an epoch has always the same number of
    batches, which Keras relies on.

    Args:
        windows: int array (texts,).
        lengths: int array (texts,): tokens of the longest window, or None
            where windows need no padding.
        batch_size: windows a batch; a text of more counts as so many.
        shapes: the padded lengths, from `choose_lengths`.
        generator: shuffles texts and batches.

    Returns:
        List of (text indices, padded length), as `plan_batches`.
    """
    sizes = np.minimum(windows, batch_size)
    order = generator.permutation(len(sizes))
    several = order[sizes[order] > 1]
    single = order[sizes[order] == 1]
    bins = [[] for _ in range(batch_size + 1)]  # batches by the room left
    for text in several[np.argsort(-sizes[several], kind="stable")]:
        size = sizes[text]
        fits = (r for r in range(size, batch_size) if bins[r])
        room = next(fits, batch_size)
        batch = bins[room].pop() if room < batch_size else []
        bins[room - size].append([*batch, text])
    plan = []
    for room, batches in enumerate(bins):
        for batch in batches:
            batch, single = (
                np.concatenate([batch, single[:room]]),
                single[room:],
            )
            length = 0
            if lengths is not None:
                length = shapes[np.searchsorted(shapes, lengths[batch].max())]
            plan.append((batch.astype("int64"), length))
    if len(single):
        kept = None if lengths is None else lengths[single]
        rest = plan_batches(kept, len(single), batch_size, shapes, generator)
        plan += [(single[rows], length) for rows, length in rest]
    plan = [plan[i] for i in generator.permutation(len(plan))]
    # As in `plan_batches`: the longest first, then the shortest.
    by_length = sorted(range(len(plan)), key=lambda i: -plan[i][1])
    first_two = dict.fromkeys([by_length[0], by_length[-1]])
    rest = [i for i in range(len(plan)) if i not in first_two]
    return [plan[i] for i in (*first_two, *rest)]
