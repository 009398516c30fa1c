"""Freeze, adapt, unfreeze: what moves, what stays, what is kept."""

import math

import keras
import numpy as np
import pytest

from keras_encoder.heads import TokenTagger
from keras_encoder.optimization import make_optimizer
from pipelines.training import stages
from pipelines.training.batching import Batches
from pipelines.training.freezing import set_trainable, unfreeze
from pipelines.training.stages import Stage, run_stages
from tests.keras_encoder.fixed_weights import LAYERS
from tests.pipelines.training.staged import (
    BATCH_SIZE,
    CLASSES,
    LENGTHS,
    LOSS,
    Recorder,
    adapt,
    inputs,
    moved,
    part_of,
    scripted,
    tagging_data,
    task_model,
    trainer,
    training_data,
    weights_of,
)


@pytest.fixture(scope="module")
def run():
    """Three stages; the best epoch is the second of the last."""
    task = task_model(dropout=0.3, attention_dropout=0.3)
    recorder = Recorder(task)
    records, best = run_stages(
        task,
        [
            Stage("adapt", 2, 0.01, blocks=0, warmup=0.0),
            Stage("top", 1, 0.002, blocks=1, warmup=0.0),
            Stage("finetune", 3, 0.001, warmup=0.5),
        ],
        training_data(),
        inputs(),
        trainer(
            scripted([0.7, 0.9, 0.5, 0.6, 0.95, 0.8]), callbacks=(recorder,)
        ),
    )
    recorder.records, recorder.best = records, best
    recorder.final = weights_of(task)
    return recorder


def test_every_weight_has_a_path_of_its_own():
    task = task_model()
    assert len(weights_of(task)) == len(task.weights)


def test_a_frozen_stage_moves_the_head_alone(run):
    assert {part_of(p) for p in moved(run.begins[0], run.begins[1])} == {
        "logits"
    }


def test_a_stage_of_one_block_moves_it_the_pooler_and_the_head(run):
    changed = moved(run.begins[1], run.epochs[2])
    assert {part_of(p) for p in changed} == {"block_1", "pooler", "logits"}


def test_an_unfrozen_stage_moves_every_part(run):
    changed = moved(run.begins[2], run.epochs[3])
    assert {part_of(p) for p in changed} == {
        "embeddings",
        "block_0",
        "block_1",
        "pooler",
        "logits",
    }


def test_each_stage_starts_from_the_best_so_far(run):
    assert run.best.stage == "finetune"
    # Stage "top" was worse than the end of "adapt".
    assert not moved(run.begins[1], run.begins[2])


def test_the_best_epoch_is_left_in_the_model(run):
    assert (run.best.stage, run.best.epoch) == ("finetune", 2)
    assert not moved(run.epochs[4], run.final)
    assert moved(run.epochs[5], run.final)


def test_each_stage_has_an_optimizer_and_a_schedule_of_its_own(run):
    assert len({id(optimizer) for optimizer in run.optimizers}) == 3
    assert run.iterations == [0, 0, 0]
    steps = 3 * math.ceil(len(LENGTHS) / BATCH_SIZE)
    warm_up = round(0.5 * steps)
    assert run.rates == pytest.approx([0.01, 0.002, 0.001 / warm_up])


def test_records_tell_what_happened(run):
    assert [r["name"] for r in run.records] == ["adapt", "top", "finetune"]
    assert [r["epochs"] for r in run.records] == [2, 1, 3]
    assert [r["learning_rate"] for r in run.records] == [0.01, 0.002, 0.001]
    counts = [r["trainable_parameters"] for r in run.records]
    assert counts[0] == 8 * CLASSES + CLASSES
    assert counts[0] < counts[1] < counts[2]
    assert counts[2] == sum(v.size for v in run.final.values())
    assert [r["validation"]["f1"] for r in run.records] == [0.9, 0.5, 0.95]
    assert all(len(r["history"]) == r["epochs"] for r in run.records)


def test_the_state_of_an_earlier_stage_comes_back():
    task = task_model()
    recorder = Recorder(task)
    _, best = run_stages(
        task,
        [Stage("adapt", 1, 0.01, blocks=0), Stage("top", 2, 0.01, blocks=1)],
        training_data(),
        inputs(),
        trainer(scripted([0.9, 0.5, 0.6]), callbacks=(recorder,)),
    )
    assert (best.stage, best.epoch) == ("adapt", 1)
    assert not moved(recorder.begins[1], weights_of(task))


def test_everything_is_trainable_afterwards():
    task = task_model()
    run_stages(
        task,
        [Stage("adapt", 1, 0.01, blocks=0)],
        training_data(),
        inputs(),
        trainer(scripted([0.5])),
    )
    assert len(task.trainable_weights) == len(task.weights)


def test_a_frozen_weight_that_changes_is_found():
    task = task_model()

    class Meddle(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            bias = task.encoder.pooler.trainable_weights or (
                task.encoder.pooler.weights
            )
            bias[-1].assign(bias[-1] + 1e-3)

    with pytest.raises(RuntimeError, match="changed the frozen .*pooler"):
        adapt(task, scripted([0.5]), epochs=1, callbacks=(Meddle(),))


@pytest.mark.parametrize("random_pooler", [False, True])
def test_a_flag_that_changes_during_a_stage_hides_nothing(random_pooler):
    """What counts is what the stage began with."""
    task = task_model()

    class Toggle(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            task.encoder.pooler.trainable = not random_pooler
            bias = task.encoder.embeddings.weights[-1]
            bias.assign(bias + 1e-3)

    with pytest.raises(RuntimeError, match="changed the frozen .*embeddings"):
        adapt(
            task,
            scripted([0.5]),
            epochs=1,
            callbacks=(Toggle(),),
            random_pooler=random_pooler,
        )


def test_early_stopping_of_ones_own_begins_anew_in_each_stage():
    task = task_model()
    epochs = []

    class Count(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            epochs.append(epoch)

    run_stages(
        task,
        [Stage("adapt", 1, 0.01, blocks=0), Stage("all", 3, 0.01)],
        training_data(),
        inputs(),
        trainer(
            scripted([0.1, 0.2, 0.3, 0.4], losses=[0.1, 0.9, 0.8, 0.7]),
            callbacks=(
                keras.callbacks.EarlyStopping("val_loss", patience=1),
                Count(),
            ),
        ),
    )
    # The first loss of the second stage is worse than that of the first.
    assert epochs == [0, 1, 2, 3]


def test_a_random_pooler_is_never_frozen():
    task = task_model()
    before = weights_of(task)
    adapt(task, scripted([0.5]), epochs=1, random_pooler=True)
    changed = {part_of(p) for p in moved(before, weights_of(task))}
    assert changed == {"pooler", "logits"}


@pytest.mark.parametrize(("blocks", "random_pooler"), [(1, False), (0, True)])
def test_stored_features_train_like_the_whole_model(blocks, random_pooler):
    everything = len(LENGTHS)  # in one batch, however rows are grouped
    stage = Stage("some", 2, 0.01, blocks=blocks, warmup=0.0)
    task = task_model()
    run_stages(
        task,
        [stage],
        training_data(),
        inputs(),
        trainer(scripted([0.5, 0.6]), batch_size=everything),
        random_pooler,
    )
    whole = task_model()
    set_trainable(whole, blocks, random_pooler)
    data = training_data()
    batches = Batches(data.inputs, data.targets, data.weights, everything, 1)
    optimizer = make_optimizer(
        whole.trainable_variables, 0.01, 2 * len(batches), warmup=0.0
    )
    whole.compile(optimizer=optimizer, loss=LOSS)
    whole.fit(batches, epochs=2, verbose=0, shuffle=False)
    for one, other in zip(task.weights, whole.weights, strict=True):
        np.testing.assert_allclose(
            one.numpy(), other.numpy(), atol=1e-4, err_msg=one.path
        )


def test_training_takes_the_longest_batch_first(monkeypatch):
    """So that a lack of memory shows at once."""
    taken = []

    class Recorded(Batches):
        def __getitem__(self, index):
            taken.append(index)
            return super().__getitem__(index)

    monkeypatch.setattr(stages, "Batches", Recorded)
    adapt(task_model(), scripted([0.5, 0.5]), epochs=2)
    steps = math.ceil(len(LENGTHS) / BATCH_SIZE)
    assert taken[-2 * steps :] == 2 * list(range(steps))


def test_a_stage_without_epochs_is_left_out():
    task = task_model()
    records, _ = run_stages(
        task,
        [Stage("none", 0, 0.01, blocks=0), Stage("adapt", 1, 0.01, blocks=0)],
        training_data(),
        inputs(),
        trainer(scripted([0.5])),
    )
    assert [record["name"] for record in records] == ["adapt"]


@pytest.mark.parametrize(
    ("blocks", "random_pooler", "expected"),
    [
        (0, False, {"logits"}),
        (0, True, {"pooler", "logits"}),
        (1, False, {"block_1", "pooler", "logits"}),
        (LAYERS, False, {"block_0", "block_1", "pooler", "logits"}),
        (
            None,
            False,
            {"embeddings", "block_0", "block_1", "pooler", "logits"},
        ),
    ],
)
def test_flags_say_what_trains(blocks, random_pooler, expected):
    task = task_model()
    for start in (0, None, 1):  # from whatever stood before
        set_trainable(task, start)
        set_trainable(task, blocks, random_pooler)
        found = {part_of(v.path) for v in task.trainable_weights}
        assert found == expected


def test_more_blocks_than_there_are_is_an_error():
    with pytest.raises(ValueError, match=f"blocks.*{LAYERS}"):
        set_trainable(task_model(), LAYERS + 1)


def test_unfreezing_reaches_what_lies_below_a_trainable_layer():
    task = task_model()
    task.encoder.blocks[0].trainable = False
    unfreeze(task)
    assert len(task.trainable_weights) == len(task.weights)


def test_a_tagger_trains_without_its_pooler():
    task = task_model(TokenTagger)
    before = weights_of(task)
    records, _ = run_stages(
        task,
        [Stage("finetune", 1, 0.01)],
        tagging_data(),
        inputs(),
        trainer(scripted([0.5])),
    )
    changed = {part_of(p) for p in moved(before, weights_of(task))}
    assert changed == {"embeddings", "block_0", "block_1", "logits"}
    pooler = sum(v.numpy().size for v in task.encoder.pooler.weights)
    whole = sum(v.size for v in before.values())
    assert records[0]["trainable_parameters"] == whole - pooler


def test_a_tagger_adapts_on_the_states_of_its_tokens():
    task = task_model(TokenTagger)
    before = weights_of(task)
    run_stages(
        task,
        [Stage("adapt", 1, 0.01, blocks=0)],
        tagging_data(),
        inputs(),
        trainer(scripted([0.5])),
    )
    changed = {part_of(p) for p in moved(before, weights_of(task))}
    assert changed == {"logits"}


def test_half_precision_scales_its_loss():
    """Small gradients are 0 in float16 otherwise."""
    task = task_model(dtype="mixed_float16")
    recorder = Recorder(task)
    run_stages(
        task,
        [Stage("top", 1, 0.01, blocks=1)],
        training_data(),
        inputs(),
        trainer(scripted([0.5]), callbacks=(recorder,)),
    )
    assert isinstance(
        recorder.optimizers[0], keras.optimizers.LossScaleOptimizer
    )
