"""Rows of different length -> batches: every row once, little padding."""

import itertools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.training.batching import (
    Batches,
    choose_lengths,
    padded_lengths,
    plan_batches,
    predict_rows,
)
from pipelines.training.inputs import Inputs, Rows
from tests.pipelines.training.reading import tunes_itself

pytestmark = pytest.mark.backend_free
LENGTHS = np.random.default_rng(0).integers(2, 100, 83)


def rows(lengths=LENGTHS):
    """Rows whose values are 1000 * row + place."""
    return Rows.join(
        [1000 * i + np.arange(n) for i, n in enumerate(lengths)], "int32"
    )


def batches(lengths=LENGTHS, batch_size=8, seed=3):
    count = len(lengths)
    return Batches(
        Inputs({"token_ids": rows(lengths)}, {"token_ids": -1}),
        np.arange(count, dtype="float32"),
        np.ones(count, "float32"),
        batch_size,
        seed,
    )


def waste(lengths, shapes):
    """Tokens after padding each row to the least shape that holds it."""
    return sum(min(s for s in shapes if s >= n) for n in lengths)


def test_rows_come_back_as_they_went_in():
    stored = Rows.join([np.array([3, 4]), np.zeros(0), np.array([5])], "int32")
    assert [row.tolist() for row in map(stored.__getitem__, range(3))] == [
        [3, 4],
        [],
        [5],
    ]
    assert len(stored) == 3


def test_pad_fills_short_rows_and_cuts_long_ones():
    stored = Rows.join([np.array([3, 4, 5]), np.array([6])], "int32")
    padded = stored.pad(np.array([1, 0, 1]), 2, value=9)
    assert padded.tolist() == [[6, 9], [3, 4], [6, 9]]
    assert padded.dtype == "int32"


def test_pad_keeps_further_axes():
    stored = Rows(np.arange(6, dtype="float32").reshape(3, 2), [1, 2])
    padded = stored.pad(np.array([0, 1]), 2)
    assert padded.tolist() == [[[0, 1], [0, 0]], [[2, 3], [4, 5]]]


def test_the_mask_comes_from_lengths_not_from_ids():
    inputs = Inputs({"token_ids": Rows.join([[0, 0], [7]], "int32")})
    batch = inputs.batch(np.array([0, 1]), 3)
    assert batch["padding_mask"].tolist() == [[1, 1, 0], [1, 0, 0]]


def test_inputs_without_rows_have_no_mask():
    inputs = Inputs({"features": np.eye(3)})
    assert set(inputs.batch(np.array([2, 0]), 0)) == {"features"}
    assert inputs.lengths is None


@given(
    st.lists(st.integers(1, 64), min_size=1, max_size=12),
    st.integers(1, 4),
)
@settings(max_examples=60, deadline=None)
def test_chosen_lengths_waste_as_little_as_any(lengths, most):
    chosen = choose_lengths(np.array(lengths), most)
    possible = range(8, 65, 8)
    best = min(
        waste(lengths, shapes)
        for count in range(1, most + 1)
        for shapes in itertools.combinations(possible, count)
        if shapes[-1] >= max(lengths)
    )
    assert len(chosen) <= most
    assert chosen == sorted(chosen)
    assert chosen[-1] >= max(lengths)
    assert waste(lengths, chosen) == best


def test_no_row_is_padded_beyond_the_longest_that_a_model_takes():
    lengths = np.array([3, 9, 13])
    assert choose_lengths(lengths, longest=13) == [8, 13]
    inputs = Inputs({"token_ids": rows(lengths)}, longest=13)
    some = Batches(inputs, np.zeros(3), np.ones(3), 1, seed=0)
    assert max(some[i][0]["token_ids"].shape[1] for i in range(3)) == 13
    widths = []
    model = FirstToken(widths)
    assert len(list(predict_rows(model, inputs, 1))) == 3
    assert max(widths) == 13


@pytest.mark.parametrize(
    ("backend", "batch_size", "count"),
    [("jax", 8, 1), ("jax", 4, 3), ("jax", 1, 8), ("torch", 8, 8)],
)
def test_jax_pads_few_batches_to_few_lengths(
    monkeypatch, backend, batch_size, count
):
    """It compiles a program for each; 83 rows are 10, 20 or 83 batches."""
    monkeypatch.setattr(keras.backend, "backend", lambda: backend)
    inputs = Inputs({"token_ids": rows()})
    chosen = padded_lengths(inputs, batch_size)
    assert chosen == choose_lengths(LENGTHS, count)
    assert len(chosen) == count


def test_every_row_is_planned_once():
    for generator in (None, np.random.default_rng(1)):
        shapes = choose_lengths(LENGTHS)
        plan = plan_batches(LENGTHS, len(LENGTHS), 8, shapes, generator)
        planned = np.concatenate([batch for batch, _ in plan])
        assert sorted(planned) == list(range(len(LENGTHS)))
        for batch, length in plan:
            assert length in shapes
            assert length >= LENGTHS[batch].max()


def test_rows_without_lengths_are_planned_once():
    plan = plan_batches(None, 10, 4, None, np.random.default_rng(1))
    assert sorted(np.concatenate([b for b, _ in plan])) == list(range(10))
    assert [len(b) for b, _ in plan] == [4, 4, 2]


def test_the_longest_batch_comes_first_then_the_shortest():
    shapes = choose_lengths(LENGTHS)
    for seed in range(5):
        random = np.random.default_rng(seed)
        plan = plan_batches(LENGTHS, len(LENGTHS), 8, shapes, random)
        lengths = [length for _, length in plan]
        assert lengths[0] == max(lengths)
        assert lengths[1] == min(lengths)


def test_batches_are_the_same_for_the_same_seed():
    first, second = batches(seed=5), batches(seed=5)
    for _ in range(2):
        for (one, _), (other, _) in zip(first.plan, second.plan, strict=True):
            np.testing.assert_array_equal(one, other)
        first.on_epoch_end()
        second.on_epoch_end()


def test_epochs_and_seeds_differ():
    def order(some):
        return np.concatenate([batch for batch, _ in some.plan]).tolist()

    some = batches(seed=5)
    first = order(some)
    some.on_epoch_end()
    assert order(some) != first
    assert order(batches(seed=6)) != first


def test_the_last_batch_is_filled_up_with_weight_zero():
    some = batches(np.full(10, 5), batch_size=4)
    seen = []
    for index in range(len(some)):
        inputs, targets, weights = some[index]
        assert inputs["token_ids"].shape == (4, 8)
        assert targets.shape == weights.shape == (4,)
        seen += targets[weights > 0].tolist()
    assert sorted(seen) == list(range(10))
    assert sum((some[i][2] == 0).sum() for i in range(len(some))) == 2


def test_targets_in_rows_are_padded_with_their_inputs():
    lengths = np.array([3, 5])
    some = Batches(
        Inputs({"token_ids": rows(lengths)}),
        rows(lengths),
        Rows(np.ones(8, "float32"), lengths),
        batch_size=2,
        seed=0,
    )
    inputs, targets, weights = some[0]
    np.testing.assert_array_equal(inputs["token_ids"], targets)
    np.testing.assert_array_equal(inputs["padding_mask"], weights)


def test_padding_share_counts_what_is_not_a_token():
    some = batches(np.array([3, 3, 3, 3]), batch_size=4)
    length = some[0][0]["token_ids"].shape[1]
    assert some.padding_share == pytest.approx(1 - 3 / length)


def test_little_is_padding_where_lengths_vary():
    lengths = np.random.default_rng(0).integers(5, 128, 4000)
    assert batches(lengths, batch_size=32).padding_share < 0.13


@pytest.mark.parametrize("batch_size", [1, 7, 16, 1000])
def test_a_model_sees_every_row_once(batch_size):
    inputs = Inputs({"token_ids": rows()}, {"token_ids": -1})
    found = {}
    for some, outputs in predict_rows(FirstToken(), inputs, batch_size):
        for row, output in zip(some, outputs, strict=True):
            assert row not in found
            found[row] = output
    assert found == {i: 1000 * i for i in range(len(LENGTHS))}


def test_lengths_that_are_compiled_serve_for_other_texts():
    draw = np.random.default_rng(0).integers
    widths, model = [], None

    def run(low, high):
        lengths = np.append(draw(low, high, 999), high)
        inputs = Inputs({"token_ids": rows(lengths)})
        list(predict_rows(model, inputs, 32))
        found = set(widths)
        widths.clear()
        return found

    model = FirstToken(widths)
    first = run(10, 128)
    assert 1 < len(first) <= 8
    assert run(10, 128) == first
    assert run(30, 128) <= first
    short = run(5, 16)
    assert max(short) == 16  # the others would be half padding
    assert max(run(5, 60)) == 64


def test_progress_counts_rows():
    done = []
    inputs = Inputs({"token_ids": rows()})
    for _ in predict_rows(FirstToken(), inputs, 32, done.append):
        pass
    assert sum(done) == len(LENGTHS)


class FirstToken:
    """Stands for a model: returns the first id of each row."""

    def __init__(self, widths=None):
        self.widths = widths if widths is not None else []

    def predict_on_batch(self, batch):
        self.widths.append(batch["token_ids"].shape[1])
        return batch["token_ids"][:, 0]


def test_keras_reads_each_epoch_in_the_order_of_its_plan():
    """On TensorFlow with threads of its own, which run ahead."""
    seen = []

    def loss(rows, outputs):
        seen.append(keras.ops.convert_to_numpy(rows).ravel().tolist())
        return keras.ops.mean(outputs)

    ids = keras.Input((None,), name="token_ids")
    mask = keras.Input((None,), name="padding_mask")
    outputs = keras.layers.Dense(1)(keras.ops.mean(ids + mask, 1, True))
    model = keras.Model({"token_ids": ids, "padding_mask": mask}, outputs)
    model.compile("sgd", loss, run_eagerly=True)
    read, planned = batches(), []

    class Plan(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            planned.extend(read[i][1].tolist() for i in range(len(read)))

    model.fit(read, epochs=3, shuffle=False, verbose=0, callbacks=[Plan()])
    # Before them comes what Keras builds the model with.
    assert seen[-len(planned) :] == planned


def test_tensorflow_does_not_tune_the_reading(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "tensorflow")
    assert not tunes_itself(batches())
