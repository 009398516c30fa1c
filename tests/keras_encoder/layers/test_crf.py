"""The CRF equals brute force over all sequences, on every backend."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from keras_encoder.layers.crf import CRF
from tests.keras_encoder.fixed_weights import set_sine_weights, sine

BATCH, SEQ, TAGS = 6, 5, 3
# Rows: all, none, one, gaps, the end only, the start only.
COUNTED = np.array(
    [
        [1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 1, 0, 1, 1],
        [0, 0, 0, 1, 1],
        [1, 1, 0, 0, 0],
    ],
    "int32",
)
LOGITS = sine((BATCH, SEQ, TAGS), 0.3, 2.0)
GOLD = np.arange(BATCH * SEQ).reshape(BATCH, SEQ) % TAGS


def made_crf():
    crf = CRF(TAGS)
    crf.build((None, None, TAGS))
    return set_sine_weights(crf)


def score(crf, logits, tags):
    """Of one sequence without gaps, by the formula."""
    transitions, start, end = (w.numpy() for w in crf.weights)
    pairs = itertools.pairwise(tags)
    return (
        start[tags[0]]
        + sum(logits[i, tag] for i, tag in enumerate(tags))
        + sum(transitions[pair] for pair in pairs)
        + end[tags[-1]]
    )


def all_scores(crf, logits):
    """Every sequence of tags with its score."""
    return {
        tags: score(crf, logits, tags)
        for tags in itertools.product(range(TAGS), repeat=len(logits))
    }


def to_numpy(tensor):
    return keras.ops.convert_to_numpy(tensor)


def random_batch():
    """20 rows of 6 positions, at random counted or not."""
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 2, (20, 6, TAGS)).astype("float32")
    tags = generator.integers(0, TAGS, (20, 6))
    return logits, tags, generator.integers(0, 2, (20, 6))


BATCHES = [
    pytest.param(LOGITS, GOLD, COUNTED, id="chosen"),
    pytest.param(*random_batch(), id="random"),
]


@pytest.mark.parametrize(("logits", "gold", "counted"), BATCHES)
def test_log_likelihood_equals_brute_force(logits, gold, counted):
    crf = made_crf()
    found = to_numpy(crf.log_likelihood(logits, gold, counted))
    for row, keep in enumerate(counted.astype(bool)):
        if not keep.any():
            assert found[row] == 0
            continue
        scores = all_scores(crf, logits[row][keep].astype("float64"))
        expected = scores[tuple(gold[row][keep])] - np.log(
            np.exp(list(scores.values())).sum()
        )
        assert found[row] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("logits", "gold", "counted"), BATCHES)
def test_decode_equals_brute_force(logits, gold, counted):
    crf = made_crf()
    found = to_numpy(crf(logits, counted))
    assert found.dtype == "int32"
    for row, keep in enumerate(counted.astype(bool)):
        assert not found[row][~keep].any()
        if keep.any():
            scores = all_scores(crf, logits[row][keep])
            best = max(scores, key=scores.get)
            assert tuple(found[row][keep]) == best


def test_without_transitions_each_position_is_for_itself():
    crf = CRF(TAGS)
    crf.build((None, None, TAGS))
    found = to_numpy(crf.log_likelihood(LOGITS, GOLD, COUNTED))
    log_probs = LOGITS - np.log(np.exp(LOGITS).sum(-1, keepdims=True))
    right = np.take_along_axis(log_probs, GOLD[..., None], -1)[..., 0]
    np.testing.assert_allclose(found, (right * COUNTED).sum(1), atol=1e-5)


def test_extra_padding_changes_nothing():
    crf = made_crf()
    pad = [(0, 0), (0, 4)]
    logits = np.pad(LOGITS, [*pad, (0, 0)], constant_values=50.0)
    tags, counted = np.pad(GOLD, pad), np.pad(COUNTED, pad)
    np.testing.assert_allclose(
        to_numpy(crf.log_likelihood(logits, tags, counted)),
        to_numpy(crf.log_likelihood(LOGITS, GOLD, COUNTED)),
        atol=1e-5,
    )
    np.testing.assert_array_equal(
        to_numpy(crf(logits, counted))[:, :SEQ], to_numpy(crf(LOGITS, COUNTED))
    )


def test_one_position():
    crf = made_crf()
    ones = np.ones((BATCH, 1))
    tags = to_numpy(crf(LOGITS[:, :1], ones))
    start, end = crf.start.numpy(), crf.end.numpy()
    np.testing.assert_array_equal(
        tags[:, 0], (LOGITS[:, 0] + start + end).argmax(-1)
    )
    likelihood = crf.log_likelihood(LOGITS[:, :1], tags, ones)
    assert np.isfinite(to_numpy(likelihood)).all()


def tagger():
    """A model whose loss is that of a CRF, for batches of any length."""
    model = Tagger(made_crf())
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    return model


class Tagger(keras.Model):
    """Logits -> logits; trains the CRF alone."""

    def __init__(self, crf):
        super().__init__()
        self.crf = crf
        self.built = True

    def call(self, inputs):
        return inputs

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        likelihood = self.crf.log_likelihood(y_pred, y, sample_weight)
        return -ops.mean(likelihood)


def fit(model, logits, tags, counted, steps=1):
    for _ in range(steps):
        loss = model.train_on_batch(logits, tags, counted)
    return float(loss)


def test_training_raises_the_likelihood():
    model = tagger()
    before = fit(model, LOGITS, GOLD, COUNTED)
    after = fit(model, LOGITS, GOLD, COUNTED, steps=20)
    assert after < before - 0.01
    for weight in model.crf.weights:
        assert np.isfinite(weight.numpy()).all()


def test_models_do_not_ask_for_xla_where_it_cannot_train():
    has_gradient = keras.backend.backend() != "tensorflow"
    assert made_crf().supports_jit == has_gradient


def test_one_step_moves_each_weight_by_its_slope():
    """The slope along the step, by differences, is the step's square."""
    model = tagger()
    fit(model, LOGITS, GOLD, COUNTED)
    moved = [w.numpy() for w in model.crf.weights]
    old = [w.numpy() for w in made_crf().weights]
    for weight, value, after in zip(model.crf.weights, old, moved, strict=True):
        step = (after - value).astype("float64")
        losses = []
        for factor in (0.5, -0.5):
            for other, kept in zip(model.crf.weights, old, strict=True):
                other.assign(kept)
            weight.assign(value + factor * step)
            likelihood = model.crf.log_likelihood(LOGITS, GOLD, COUNTED)
            losses.append(-to_numpy(likelihood).mean(dtype="float64"))
        slope = losses[0] - losses[1]
        assert slope == pytest.approx(-(step**2).sum() / 0.1, rel=0.02)


def test_a_batch_where_nothing_counts_moves_nothing():
    model = tagger()
    old = [w.numpy() for w in model.crf.weights]
    loss = fit(model, LOGITS, GOLD, np.zeros_like(COUNTED))
    assert loss == 0
    for weight, value in zip(model.crf.weights, old, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


def test_lengths_may_differ_between_batches():
    model = tagger()
    for seq in (5, 3, 4):
        loss = fit(model, LOGITS[:, :seq], GOLD[:, :seq], COUNTED[:, :seq])
        assert np.isfinite(loss)


def test_unknown_length_in_a_functional_model(tmp_path):
    logits = keras.Input((None, TAGS))
    counted = keras.Input((None,), dtype="int32")
    crf = made_crf()
    model = keras.Model([logits, counted], crf(logits, counted))
    expected = to_numpy(crf(LOGITS, COUNTED))
    model.save(tmp_path / "crf.keras")
    opened = keras.saving.load_model(tmp_path / "crf.keras")
    found = opened.predict([LOGITS, COUNTED], verbose=0)
    np.testing.assert_array_equal(found, expected)
    assert opened.predict([LOGITS[:, :3], COUNTED[:, :3]], verbose=0).shape == (
        BATCH,
        3,
    )


def test_computes_in_float32_under_a_mixed_policy():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        crf = made_crf()
    finally:
        keras.config.set_dtype_policy(before)
    result = crf.log_likelihood(LOGITS, GOLD, COUNTED)
    assert keras.backend.standardize_dtype(result.dtype) == "float32"
    np.testing.assert_allclose(
        to_numpy(result),
        to_numpy(made_crf().log_likelihood(LOGITS, GOLD, COUNTED)),
        atol=1e-6,
    )


@pytest.mark.parametrize("value", [0, -1, 2.0, True])
def test_num_tags_must_be_positive(value):
    with pytest.raises(ValueError, match=f"num_tags={value!r}"):
        CRF(value)
