"""Several small batches make the update that one large batch makes."""

import keras
import numpy as np
import pytest

from keras_encoder.heads import TokenTagger
from keras_encoder.layers.crf import CRF
from keras_encoder.losses import CrfLoss, SmoothCrossentropy
from keras_encoder.optimization import make_optimizer
from pipelines.training.batching import Batches
from pipelines.training.inputs import Rows
from pipelines.training.updates import Updates
from tests.keras_encoder.fixed_weights import set_sine_weights, tiny_encoder
from tests.pipelines.training.staged import CLASSES, LENGTHS, inputs

STEPS, EPOCHS = 3, 2


def words():
    """Targets and weights of words; many of them do not count."""
    order = np.arange(LENGTHS.sum())
    counted = (order % 3 == 0) | (order > 40)
    return (
        Rows((order % CLASSES).astype("int32"), LENGTHS),
        Rows(counted.astype("float32"), LENGTHS),
    )


def small_batches():
    return Batches(inputs(), *words(), batch_size=2, seed=4)


class Large(keras.utils.PyDataset):
    """The batches of each update as one."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def on_epoch_end(self):
        self.batches.on_epoch_end()

    def __len__(self):
        return -(-len(self.batches) // STEPS)

    def __getitem__(self, index):
        chosen = range(len(self.batches))[index * STEPS : (index + 1) * STEPS]
        parts = [self.batches[i] for i in chosen]

        def join(*parts):
            parts = [np.pad(p, [(0, 0), (0, 8 - p.shape[1])]) for p in parts]
            return np.concatenate(parts)

        return keras.tree.map_structure(join, *parts)


def fit(data, loss, steps_per_update, crf):
    keras.utils.set_random_seed(0)
    model = TokenTagger(
        tiny_encoder(), CLASSES, dropout=0.0, crf=CRF(CLASSES) if crf else None
    )
    set_sine_weights(model)
    model.encoder.pooler.trainable = False
    if crf:
        loss.crf = model.crf
    begin = model.get_weights()
    optimizer = make_optimizer(
        model.trainable_variables,
        0.01,
        total_steps=EPOCHS * len(data),
        warmup=0.5,
        weight_decay=0.1,
        clip_norm=0.5,
        steps_per_update=steps_per_update,
    )
    model.compile(optimizer, loss)
    model.fit(data, epochs=EPOCHS, shuffle=False, verbose=0)
    return begin, model.get_weights()


@pytest.mark.parametrize("crf", [False, True])
def test_they_are_the_update_of_one_large_batch(crf):
    kind = CrfLoss if crf else SmoothCrossentropy
    several = Updates(small_batches(), STEPS)
    assert len(several.batches) % STEPS == 0
    begin, found = fit(several, kind(reduction="sum"), STEPS, crf)
    _, expected = fit(Large(small_batches()), kind(), 1, crf)
    moved = 0
    for start, one, other in zip(begin, found, expected, strict=True):
        # Adam divides by the gradient: where that is 0 but for rounding (the
        # bias of the keys), its steps are of any size.
        if np.abs(other - start).max() > 1e-3:
            moved += 1
            np.testing.assert_allclose(one, other, atol=2e-5)
    assert moved > 30


@pytest.mark.backend_free
def test_each_update_has_the_weight_of_its_steps():
    updates = Updates(small_batches(), steps=4)
    assert len(updates.batches) == 6
    weights = [updates[index][2] for index in range(len(updates))]
    assert len(weights) == 8
    sums = np.array([some.sum() for some in weights]).reshape(2, 4)
    np.testing.assert_allclose(sums.sum(axis=1), 4.0, rtol=1e-5)
    assert (sums[1, 2:] == 0).all()  # these fill up the last update
    assert np.ptp(sums[0]) > 0.1


@pytest.mark.backend_free
def test_an_epoch_anew_is_weighed_anew():
    updates = Updates(small_batches(), steps=2)
    first = [updates[index] for index in range(len(updates))]
    updates.on_epoch_end()
    second = [updates[index] for index in range(len(updates))]
    assert any(
        a[0]["token_ids"].tolist() != b[0]["token_ids"].tolist()
        for a, b in zip(first, second, strict=True)
    )
    for epoch in (first, second):
        sums = np.array([weights.sum() for _, _, weights in epoch])
        np.testing.assert_allclose(sums.reshape(-1, 2).sum(1), 2.0, rtol=1e-5)


class Outputs(keras.utils.PyDataset):
    """Two batches of two outputs; in one of them nothing counts."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        weights = {
            "words": np.array([1.0, 3.0 * index], "float32"),
            "pair": np.zeros(2, "float32"),
        }
        return {}, {}, weights


@pytest.mark.backend_free
def test_each_output_is_weighed_by_itself():
    updates = Updates(Outputs(), steps=2)
    words = [updates[index][2]["words"].tolist() for index in range(2)]
    np.testing.assert_allclose(words, [[0.4, 0.0], [0.4, 1.2]], rtol=1e-6)
    assert updates[1][2]["pair"].tolist() == [0.0, 0.0]
