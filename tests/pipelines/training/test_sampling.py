"""The examples of an epoch: each once, or as many of each class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.training.batching import Batches
from pipelines.training.inputs import Inputs, Rows
from pipelines.training.sampling import draw_rows
from pipelines.training.windows import WindowBatches

pytestmark = pytest.mark.backend_free
CLASSES = np.array([0] * 20 + [2] * 3 + [5])


def test_without_classes_each_row_comes_once():
    rows = draw_rows(5, None, np.random.default_rng(0))
    assert rows.tolist() == [0, 1, 2, 3, 4]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
@settings(max_examples=100, deadline=None)
def test_classes_come_equally_often(classes):
    classes = np.array(classes)
    rows = draw_rows(len(classes), classes, np.random.default_rng(1))
    counts = np.bincount(classes[rows])
    assert len(set(counts[counts > 0])) == 1
    assert set(classes[rows]) == set(classes)
    assert abs(len(rows) - len(classes)) <= len(set(classes)) / 2
    times = np.bincount(rows, minlength=len(classes))
    for name in set(classes):  # no row of a class much oftener than another
        assert np.ptp(times[classes == name]) <= 1


def test_what_a_frequent_class_leaves_out_changes():
    generator = np.random.default_rng(2)
    epochs = [set(draw_rows(24, CLASSES, generator)) for _ in range(2)]
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("windows", [1, 3])
def test_batches_are_made_of_what_was_drawn(windows):
    """And there are as many in each epoch: Keras asks only once."""
    counts = np.where(np.arange(24) % 5 == 0, windows, 1)
    owners = np.repeat(np.arange(24), counts)
    rows = Rows(np.zeros(2 * len(owners), int), np.full(len(owners), 2))
    inputs = Inputs({"token_ids": rows}, longest=2)
    kind = Batches
    if windows > 1:
        kind, inputs = WindowBatches, Inputs(inputs.columns, {}, 2, owners)
    batches = kind(
        inputs, CLASSES, np.ones(24, "float32"), 4, seed=0, classes=CLASSES
    )
    lengths = set()
    for _ in range(6):
        found = [
            name
            for i in range(len(batches))
            for name, weight in zip(*batches[i][1:], strict=True)
            if weight
        ]
        lengths.add(len(batches))
        shares = np.bincount(found)[[0, 2, 5]] / len(found)
        assert shares == pytest.approx([1 / 3] * 3, abs=0.1)
        assert 0 <= batches.padding_share < 0.5
        batches.on_epoch_end()
    assert len(lengths) == 1
