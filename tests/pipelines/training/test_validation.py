"""Which epoch is the best, and when a stage ends."""

import math

import pytest

from pipelines.errors import RunFailed
from tests.pipelines.training.staged import adapt, scripted, task_model


def test_at_equal_metric_the_lower_loss_is_better():
    score = scripted([0.5, 0.5, 0.5], [0.3, 0.2, 0.4])
    _, best = adapt(task_model(), score, epochs=3)
    assert best.epoch == 2


def test_patience_counts_epochs_without_improvement():
    score = scripted([0.5, 0.6] + [0.6] * 18, [0.3, 0.2] + [0.2] * 18)
    records, _ = adapt(task_model(), score, patience=3)
    assert records[0]["epochs"] == 2 + 3


def test_a_falling_loss_is_an_improvement():
    score = scripted([0.5] * 20, [0.9, 0.8, 0.7] + [0.7] * 17)
    records, _ = adapt(task_model(), score, patience=3)
    assert records[0]["epochs"] == 3 + 3


def test_without_patience_every_epoch_is_trained():
    records, _ = adapt(task_model(), scripted([0.5] * 8, [1.0] * 8), epochs=8)
    assert records[0]["epochs"] == 8


@pytest.mark.parametrize(
    ("metric", "loss"),
    [(math.nan, 1.0), (0.5, math.nan), (math.nan, math.nan)],
)
def test_a_training_that_never_gives_numbers_fails(metric, loss):
    score = scripted([metric] * 3, [loss] * 3)
    with pytest.raises(RunFailed, match="lower the learning rate"):
        adapt(task_model(), score, epochs=3)


def test_an_epoch_that_gives_no_numbers_is_never_the_best():
    score = scripted([0.4, 0.9, 0.3], [1.0, math.nan, 1.0])
    _, best = adapt(task_model(), score, epochs=3)
    assert best.epoch == 1


def test_the_record_of_a_stage_has_its_best_epoch():
    score = scripted([math.nan, 0.5, 0.7, 0.6])
    records, _ = adapt(task_model(), score, epochs=4)
    assert records[0]["validation"]["epoch"] == 3
