"""Batches of whole texts: each text once, one loss a text, few shapes."""

import functools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_encoder.losses import SmoothCrossentropy
from pipelines.classification.metrics import softmax
from pipelines.classification.windows import combine
from pipelines.training.features import (
    Below,
    StandardisedHead,
    compute_states,
    head_features,
)
from pipelines.training.inputs import Inputs, Rows
from pipelines.training.stages import Stage, TrainingData, run_stages
from pipelines.training.windows import Combined, WindowBatches, plan_texts
from tests.keras_encoder.layer_contract import to_numpy
from tests.pipelines.training.reading import tunes_itself
from tests.pipelines.training.staged import inputs as staged_inputs
from tests.pipelines.training.staged import scripted, task_model, trainer

WINDOWS = np.array([1, 3, 1, 2, 6, 1, 1, 2])
OWNERS = np.repeat(np.arange(len(WINDOWS)), WINDOWS)
MEAN = functools.partial(combine, how="mean", problem="single_label")


def features(width=5):
    values = np.sin(np.arange(len(OWNERS) * width, dtype="float32") ** 2)
    values = values.reshape(-1, width)
    return Inputs({"features": values}, owners=OWNERS)


def batches(inputs, targets=None, weights=None, batch_size=8, seed=2):
    count = int(inputs.owners[-1]) + 1
    targets = np.arange(count) if targets is None else targets
    weights = np.ones(count, "float32") if weights is None else weights
    return WindowBatches(inputs, targets, weights, batch_size, seed)


@pytest.mark.backend_free
@given(st.lists(st.integers(1, 12), min_size=1, max_size=40), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_each_text_comes_once_an_epoch_and_fits(windows, batch_size):
    windows = np.array(windows)
    lengths = np.where(windows > 1, 16, 1 + np.arange(len(windows)) % 16)
    generator = np.random.default_rng(0)
    counts = set()
    for _ in range(3):
        plan = plan_texts(windows, lengths, batch_size, [8, 16], generator)
        texts = np.concatenate([some for some, _ in plan])
        assert sorted(texts) == list(range(len(windows)))
        for some, length in plan:
            used = np.minimum(windows[some], batch_size)
            assert used.sum() <= batch_size
            assert length >= lengths[some].max()
        counts.add(len(plan))
    assert len(counts) == 1  # Keras asks for the number once
    least = np.minimum(windows, batch_size).sum() / batch_size
    assert len(plan) <= 2 * least + 1


@pytest.mark.backend_free
def test_the_windows_of_a_text_share_a_batch_and_a_place():
    lengths = np.where(WINDOWS[OWNERS] > 1, 8, 3)
    values = np.repeat(np.arange(len(OWNERS)), lengths)  # a window's number
    inputs = Inputs(
        {"token_ids": Rows(values, lengths)}, longest=8, owners=OWNERS
    )
    some = batches(inputs)
    seen = []
    for i in range(len(some)):
        batch, targets, weights = some[i]
        assert batch["token_ids"].shape[0] == len(targets) == 8
        real = np.flatnonzero(weights)
        for place in real:
            rows = batch["owners"] == place
            windows = batch["token_ids"][rows, 0]
            assert (
                windows.tolist()
                == np.flatnonzero(OWNERS == targets[place]).tolist()
            )
            seen.append(targets[place])
        # What fills the batch up belongs to no real text.
        assert set(batch["owners"]) - set(real) <= {len(real)}
    assert sorted(seen) == list(range(len(WINDOWS)))


@pytest.mark.backend_free
def test_a_text_of_too_many_windows_is_trained_on_some_of_them():
    inputs = Inputs(
        {"features": np.arange(9.0)[:, None]}, owners=np.zeros(9, int)
    )
    some = batches(inputs, batch_size=4)
    drawn = []
    for _ in range(5):
        first, again = (tuple(some[0][0]["features"][:, 0]) for _ in range(2))
        assert first == again  # whichever thread asks for it, and when
        assert len(set(first)) == 4
        drawn.append(first)
        some.on_epoch_end()
    assert len(set(drawn)) > 1


def test_an_update_is_the_gradient_of_the_mean_over_texts():
    """Through the windows, whatever shares a batch; weights count by text."""
    inputs = features()
    targets = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    weights = np.array([1, 2, 1, 1, 3, 1, 0.5, 1], "float32")
    dense = keras.layers.Dense(3)
    dense.build((None, 5))
    kernel = np.cos(np.arange(15, dtype="float32")).reshape(5, 3)
    dense.set_weights([kernel, np.zeros(3)])
    outer = Combined(Features(dense), MEAN)
    some = batches(inputs, targets, weights, batch_size=6)
    assert len(some) > 2
    outer.compile(
        keras.optimizers.SGD(0.5, gradient_accumulation_steps=len(some)),
        SmoothCrossentropy(reduction="sum_over_batch_size"),
    )
    history = outer.fit(some, shuffle=False, verbose=0)

    pooled = np.stack(
        [inputs.columns["features"][OWNERS == i].mean(axis=0) for i in range(8)]
    )
    chances = softmax(pooled @ kernel)
    losses = -np.log(chances[np.arange(8), targets])
    share = weights / weights.sum()
    gradient = pooled.T @ ((chances - np.eye(3)[targets]) * share[:, None])
    np.testing.assert_allclose(
        dense.get_weights()[0], kernel - 0.5 * gradient, atol=1e-5
    )
    found = history.history["loss"][0]
    assert found == pytest.approx(float(losses @ share), rel=1e-5)


class Features(keras.Model):
    """A dense layer on the column `features`."""

    def __init__(self, dense):
        super().__init__()
        self.dense = dense
        self.built = True

    def call(self, inputs, training=None):
        return self.dense(inputs["features"])


def test_features_of_windows_combine_as_the_whole_model_does():
    task = task_model()
    inputs = windowed_inputs()
    whole = MEAN(
        to_numpy(task(inputs.batch(np.arange(12), 8))), inputs.owners, 5
    )
    kept = head_features(task, compute_states(Below(task, 2), inputs, 5))
    assert kept.owners is inputs.owners
    head = StandardisedHead(task, kept)
    head.unfold()
    kept = head.standardise(kept)
    cached = MEAN(
        to_numpy(head(kept.batch(np.arange(12), 0))), inputs.owners, 5
    )
    np.testing.assert_allclose(to_numpy(cached), to_numpy(whole), atol=1e-6)


def windowed_inputs():
    """The twelve rows of the tiny task as windows of five texts."""
    owners = np.array([0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 4], "int32")
    inputs = staged_inputs()
    return Inputs(inputs.columns, longest=8, owners=owners)


@pytest.mark.parametrize("blocks", [0, 1, None])
def test_every_kind_of_stage_learns_from_windows(blocks):
    task, inputs = task_model(), windowed_inputs()
    before = task.logits.kernel.numpy()
    data = TrainingData(
        inputs, np.array([0, 1, 2, 0, 1], "int32"), np.ones(5, "float32")
    )
    loss = SmoothCrossentropy(reduction="sum_over_batch_size")
    epochs = 3
    records, _ = run_stages(
        task,
        [Stage("stage", epochs, 0.01, blocks=blocks, warmup=0.0)],
        data,
        inputs,
        trainer(scripted([0.1, 0.2, 0.3]), loss=loss, combine=MEAN),
    )
    history = records[0]["history"]
    assert len(history) == epochs
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert (task.logits.kernel.numpy() != before).any()


@pytest.mark.backend_free
def test_tensorflow_does_not_tune_the_reading(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "tensorflow")
    assert not tunes_itself(batches(features()))
