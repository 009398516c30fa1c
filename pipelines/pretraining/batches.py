"""Batches to pretrain on, masked anew each epoch, of few shapes."""

import copy

import keras
import numpy as np

from pipelines.pretraining.masking import Masking
from pipelines.pretraining.rows import Draw
from pipelines.training.batching import (
    choose_lengths,
    plan_batches,
    reading_threads,
)


class MaskedBatches(keras.utils.PyDataset):
    """Masked inputs, the original tokens, and what counts of them.

    Each row has as many masked positions as its padded length allows, so that
    a shape of the inputs is one of the outputs too. A batch depends on seed,
    epoch and its number alone.

    Args:
        draw: makes the rows of an epoch.
        masking: `Masking`.
        batch_size: int. The last batch is filled up with rows of weight 0.
        seed: int.
        fixed: bool. The same rows and masks every epoch, to compare epochs.
        shapes: padded lengths; None chooses them from the first rows.
    """

    def __init__(
        self,
        draw: Draw,
        masking: Masking,
        batch_size,
        seed,
        fixed,
        shapes=None,
    ):
        super().__init__(workers=reading_threads())
        self.draw = draw
        self.masking = masking
        self.seed = seed
        self.fixed = fixed
        self.all_count = True
        self.epoch = 0
        self.rows = draw(self._generator())
        inputs = self.rows.inputs
        self.batch_size = min(batch_size, len(inputs))
        self.shapes = shapes or choose_lengths(
            # A later epoch may draw longer rows.
            np.append(inputs.lengths, inputs.longest),
            longest=inputs.longest,
        )
        self._plan()

    def on_epoch_end(self):
        if self.fixed:
            return
        self.epoch += 1
        self.rows = self.draw(self._generator())
        self._plan()

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, index):
        rows, length = self.plan[index]
        missing = self.batch_size - len(rows)
        padded = np.concatenate([rows, np.repeat(rows[:1], missing)])
        inputs = self.rows.inputs.batch(padded, length)
        seen, positions, tokens, weights = self.masking(
            inputs["token_ids"],
            self.rows.starts.pad(padded, length, False),
            self._generator(index),
        )
        inputs["token_ids"], inputs["masked_positions"] = seen, positions
        weights[len(rows) :] = 0
        if not self.all_count:
            shown = np.take_along_axis(seen, positions, axis=1)
            weights[shown != self.masking.mask_id] = 0
        if self.rows.is_random is None:
            return inputs, tokens, weights
        counts = np.arange(self.batch_size) < len(rows)
        return (
            inputs,
            {
                "masked_lm": tokens,
                "next_sentence": self.rows.is_random[padded],
            },
            {
                "masked_lm": weights,
                "next_sentence": counts.astype("float32"),
            },
        )

    def hidden_only(self) -> "MaskedBatches":
        """The same batches, where only positions that show `[MASK]` count."""
        batches = copy.copy(self)
        batches.all_count = False
        return batches

    def counted(self, index: int) -> int:
        """How many masked positions of a batch count."""
        _, _, weights = self[index]
        if isinstance(weights, dict):
            weights = weights["masked_lm"]
        return int((weights > 0).sum())

    @property
    def padding_share(self) -> float:
        """Share of the tokens of this epoch that are padding."""
        padded = sum(self.batch_size * length for _, length in self.plan)
        return 1.0 - float(self.rows.inputs.lengths.sum()) / padded

    def _plan(self):
        self.plan = plan_batches(
            self.rows.inputs.lengths,
            len(self.rows.inputs),
            self.batch_size,
            self.shapes,
            None if self.fixed else self._generator(),
        )

    def _generator(self, *index):
        return np.random.default_rng((self.seed, self.epoch, *index))
