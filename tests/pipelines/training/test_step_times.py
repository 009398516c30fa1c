"""Compile time and the time of reading, from steps of known length."""

import time

import numpy as np
import pytest

from pipelines.training.step_times import StepTimes

pytestmark = pytest.mark.backend_free


class Plan:
    """Batches that take a while to read."""

    def __init__(self, lengths, seconds=0.0):
        self.plan = [(None, length) for length in lengths]
        self.seconds = seconds

    def __len__(self):
        return len(self.plan)

    def __getitem__(self, index):
        time.sleep(self.seconds)


def times(lengths, seconds, monkeypatch):
    """What is noted of steps that took some seconds, by a clock of ours."""
    clock = iter(np.cumsum([x for s in seconds for x in (1.0, s)]))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    noted = StepTimes(Plan(lengths))
    noted.on_epoch_begin(0)
    for number in range(len(seconds)):
        noted.on_train_batch_begin(number)
        noted.on_train_batch_end(number)
    monkeypatch.undo()
    return noted


def test_first_steps_compile_what_the_others_do_not(monkeypatch):
    lengths = [32, 8, 32, 8, 16, 16]
    # A second for 8 rows; 5 more in the first two, 2 in the first of 16.
    noted = times(lengths, [9, 6, 4, 1, 4, 2], monkeypatch)
    assert noted.compile_seconds() == pytest.approx(5 + 5 + 2)


def test_steps_that_are_all_first_tell_nothing(monkeypatch):
    noted = times([8, 16], [9, 3], monkeypatch)
    assert noted.compile_seconds() is noted.input_share() is None


def test_rows_without_length_count_as_one(monkeypatch):
    noted = times([0, 0, 0, 0], [3, 1, 1, 1], monkeypatch)
    assert noted.compile_seconds() == pytest.approx(2.0)


def test_steps_beyond_the_plan_are_its_last(monkeypatch):
    noted = times([8, 8, 8], [1, 1, 1, 1], monkeypatch)
    assert noted.lengths == [8, 8, 8, 8]


def test_reading_is_told_as_a_share_of_a_step():
    noted = StepTimes(Plan([8] * 3, seconds=0.02))
    noted.seconds, noted.lengths = [5.0, 5.0, 0.1], [8] * 3
    assert 0.2 <= noted.input_share() < 0.9
