"""Schedule, decay, clipping and layer-wise rates, each by its effect."""

import keras
import numpy as np
import pytest

from keras_encoder.heads import SequenceClassifier
from keras_encoder.optimization import WarmupLinearDecay, make_optimizer
from tests.keras_encoder.fixed_weights import (
    BATCH,
    LAYERS,
    encoder_inputs,
    tiny_encoder,
)

RATE = 0.01


def classifier():
    keras.utils.set_random_seed(0)
    return SequenceClassifier(tiny_encoder(), 3, dropout=0.0)


def bare(model, **changes):
    """The optimizer with nothing but what a test asks for."""
    nothing = dict(warmup=0.0, weight_decay=0.0, clip_norm=None)
    arguments = {**nothing, "num_layers": LAYERS, **changes}
    return make_optimizer(model.trainable_variables, RATE, 10, **arguments)


def changes(model, optimizer, gradient):
    """Largest change of each weight, by path, after one step."""
    variables = model.trainable_variables
    before = [v.numpy() for v in variables]
    gradients = [keras.ops.full(v.shape, gradient) for v in variables]
    optimizer.apply(gradients, variables)
    return {
        v.path: np.abs(v.numpy() - old).max()
        for v, old in zip(variables, before, strict=True)
    }


def rates(schedule, steps):
    """In float64, so that a rate can be compared with a formula."""
    return [
        float(keras.ops.convert_to_numpy(schedule(step)))
        for step in range(steps)
    ]


def test_the_rate_warms_up_then_falls_to_zero():
    schedule = WarmupLinearDecay(1.0, warmup_steps=4, total_steps=10)
    expected = [0.25, 0.5, 0.75, 1.0, 1.0, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0]
    assert rates(schedule, 11) == pytest.approx(expected)


def test_the_rate_stays_zero_after_the_end():
    assert rates(WarmupLinearDecay(1.0, 1, 3), 9)[3:] == [0.0] * 6


def test_without_warm_up_the_first_rate_is_the_peak():
    schedule = WarmupLinearDecay(2.0, warmup_steps=0, total_steps=4)
    assert rates(schedule, 4) == pytest.approx([2.0, 1.5, 1.0, 0.5])


@pytest.mark.parametrize("total", [1, 2, 3])
def test_every_step_of_a_short_training_learns(total):
    schedule = WarmupLinearDecay(1.0, round(0.1 * total), total)
    assert min(rates(schedule, total)) > 0


def test_the_schedule_has_a_config():
    schedule = WarmupLinearDecay(1.0, 4, 10)
    config = keras.optimizers.schedules.serialize(schedule)
    copy = keras.optimizers.schedules.deserialize(config)
    assert rates(copy, 10) == rates(schedule, 10)


def test_the_optimizer_follows_the_schedule():
    model = classifier()
    optimizer = make_optimizer(
        model.trainable_variables, RATE, 4, warmup=0.5, weight_decay=0.0
    )
    used = []
    for _ in range(4):
        used.append(float(keras.ops.convert_to_numpy(optimizer.learning_rate)))
        changes(model, optimizer, 1.0)
    assert used == pytest.approx([RATE / 2, RATE, RATE, RATE / 2])


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
def test_without_gradient_only_matrices_decay(layer_decay):
    model = classifier()
    optimizer = make_optimizer(
        model.trainable_variables,
        RATE,
        10,
        warmup=0.0,
        weight_decay=0.1,
        layer_decay=layer_decay,
        num_layers=LAYERS,
    )
    moved = changes(model, optimizer, 0.0)
    for variable in model.trainable_variables:
        if len(variable.shape) < 2:
            assert moved[variable.path] == 0, variable.path
        else:
            assert moved[variable.path] > 0, variable.path


def test_decay_is_decoupled_and_times_the_rate():
    model = classifier()
    kernel = model.logits.kernel
    optimizer = make_optimizer(
        model.trainable_variables, RATE, 10, warmup=0.0, weight_decay=0.1
    )
    before = kernel.numpy()
    changes(model, optimizer, 0.0)
    np.testing.assert_allclose(
        kernel.numpy(), before * (1 - RATE * 0.1), rtol=1e-6
    )


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
def test_no_decay_no_gradient_no_change(layer_decay):
    model = classifier()
    optimizer = make_optimizer(
        model.trainable_variables,
        RATE,
        10,
        weight_decay=0.0,
        layer_decay=layer_decay,
        num_layers=LAYERS,
    )
    assert set(changes(model, optimizer, 0.0).values()) == {0.0}


def expected_rate(path):
    """RATE halved for each block below the top; embeddings lie lowest."""
    if "/embeddings/" in path:
        return RATE * 0.5**LAYERS
    for block in range(LAYERS):
        if f"/block_{block}/" in path:
            return RATE * 0.5 ** (LAYERS - 1 - block)
    return RATE


def layerwise(model, weight_decay):
    return bare(model, weight_decay=weight_decay, layer_decay=0.5)


def test_layer_decay_scales_the_step_by_block():
    model = classifier()
    moved = changes(model, layerwise(model, weight_decay=0.0), 1.0)
    seen = set()
    for path, change in moved.items():
        # Adam's first step is the learning rate.
        assert change == pytest.approx(expected_rate(path), rel=1e-3), path
        seen.add(expected_rate(path))
    assert len(seen) == LAYERS + 1


def test_layer_decay_scales_weight_decay_too():
    model = classifier()
    largest = {v.path: np.abs(v.numpy()).max() for v in model.weights}
    moved = changes(model, layerwise(model, weight_decay=0.1), 0.0)
    for variable in model.trainable_variables:
        if len(variable.shape) == 2:
            path = variable.path
            expected = largest[path] * expected_rate(path) * 0.1
            assert moved[path] == pytest.approx(expected, rel=1e-2), path


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
def test_rates_hold_inside_fit(layer_decay):
    """Also for embeddings of ids that come more than once in a batch."""
    model = classifier()
    before = {v.path: v.numpy() for v in model.trainable_variables}
    model.compile(
        optimizer=bare(model, layer_decay=layer_decay),
        loss=keras.losses.CategoricalCrossentropy(from_logits=True),
    )
    targets = np.eye(3, dtype="float32")[:BATCH]
    model.fit(encoder_inputs(), targets, batch_size=BATCH, verbose=0)
    for variable in model.trainable_variables:
        path = variable.path
        change = np.abs(variable.numpy() - before[path]).max()
        expected = expected_rate(path) if layer_decay < 1 else RATE
        if "attention/key/bias" not in path:  # its gradient is 0
            assert change == pytest.approx(expected, rel=0.05), path


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
def test_gradients_are_clipped_by_their_common_norm(layer_decay):
    """Only beside a large epsilon does Adam's step depend on the norm."""
    steps = {}
    for clip_norm in (1.0, None):
        model = classifier()
        optimizer = bare(model, clip_norm=clip_norm, layer_decay=layer_decay)
        optimizer.epsilon = 1.0
        steps[clip_norm] = changes(model, optimizer, 100.0)["logits/kernel"]
    count = classifier().count_params()
    clipped = 1 / np.sqrt(count)  # each of `count` equal ones
    assert steps[1.0] == pytest.approx(first_step(clipped), rel=0.01)
    assert steps[None] == pytest.approx(first_step(100.0), rel=0.01)


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
@pytest.mark.parametrize("clip_norm", [0.1, None])
def test_a_token_that_comes_often_has_one_gradient(clip_norm, layer_decay):
    """The same as NumPy's sum, where TensorFlow gives a row for each token."""
    ids, width = np.array([[2, 2, 1, 2]]), 3
    embedding = keras.layers.Embedding(4, width)
    model = keras.Sequential([embedding])
    model.build((None, 4))
    before = embedding.get_weights()[0]
    optimizer = bare(model, clip_norm=clip_norm, layer_decay=layer_decay)
    optimizer.epsilon = 1.0
    model.compile(optimizer, keras.losses.MeanAbsoluteError(reduction="sum"))
    far_below = np.full((*ids.shape, width), -9.0, "float32")
    model.fit(ids, far_below, verbose=0)
    expected = np.bincount(ids[0], minlength=4)[:, None] * np.ones(width)
    expected = expected / width
    if clip_norm is not None:
        expected *= clip_norm / np.linalg.norm(expected)
    np.testing.assert_allclose(
        before - embedding.get_weights()[0], first_step(expected), rtol=1e-3
    )


def first_step(gradient):
    """What Adam does with an epsilon of 1 and no bias correction of it."""
    root = np.sqrt(0.001) * gradient
    return RATE * root / (root + 1.0)


def test_a_clip_norm_of_zero_clips_nothing():
    """As in transformers, where 0 turns clipping off."""
    model = classifier()
    optimizer = make_optimizer(
        model.trainable_variables, RATE, 10, warmup=0.0, clip_norm=0.0
    )
    assert changes(model, optimizer, 1.0)["logits/kernel"] > RATE / 2


def test_the_layerwise_optimizer_has_a_config():
    model = classifier()
    optimizer = layerwise(model, weight_decay=0.1)
    config = keras.optimizers.serialize(optimizer)
    copy = keras.optimizers.deserialize(config)
    assert copy.layer_decay == 0.5
    assert copy.num_layers == LAYERS


@pytest.mark.parametrize("layer_decay", [1.0, 0.5])
def test_several_steps_may_make_one_update(layer_decay):
    """At that update's rate; Adam's first ones are as large as the rate."""
    variable = keras.Variable(np.zeros((2, 3), "float32"))
    optimizer = make_optimizer(
        [variable],
        RATE,
        total_steps=4,
        warmup=0.0,
        weight_decay=0.0,
        layer_decay=layer_decay,
        num_layers=LAYERS,
        steps_per_update=2,
    )
    found = []
    for factor in (1.0, 3.0, 2.0, 2.0):
        optimizer.apply([keras.ops.full((2, 3), factor)], [variable])
        found.append(float(variable.numpy().mean()))
    expected = [0, -RATE, -RATE, -1.5 * RATE]
    assert found == pytest.approx(expected, rel=1e-3)
