import keras
import numpy as np
import pytest
import torch
from keras import ops

from keras_encoder.layers.norms import NORMS, make_norm
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    HIDDEN,
    set_sine_weights,
    sine,
    states,
)
from tests.keras_encoder.layer_contract import to_numpy

EPSILONS = pytest.mark.parametrize("epsilon", [1e-12, 1e-5, 0.1])
BOTH = pytest.mark.parametrize("norm", list(NORMS))


def norm_layer(norm, epsilon, **arguments):
    layer = make_norm(norm, epsilon, **arguments)
    layer.build((None, None, HIDDEN))
    return set_sine_weights(layer)


@BOTH
@EPSILONS
def test_equals_its_formula(norm, epsilon):
    layer, x = norm_layer(norm, epsilon), 0.3 * states() + 1
    weights = {w.name: w.numpy().astype("float64") for w in layer.weights}
    expected = numpy_reference.NORMS[norm](
        x.astype("float64"), weights, epsilon
    )
    np.testing.assert_allclose(to_numpy(layer(x)), expected, atol=1e-5)


@EPSILONS
def test_rms_norm_equals_pytorch(epsilon):
    layer, x = norm_layer("rms_norm", epsilon), states()
    theirs = torch.nn.functional.rms_norm(
        torch.tensor(x),
        (HIDDEN,),
        torch.tensor(layer.weights[0].numpy()),
        epsilon,
    )
    np.testing.assert_allclose(to_numpy(layer(x)), theirs.numpy(), atol=1e-6)


def test_rms_norm_keeps_the_mean_and_has_one_weight():
    layer = make_norm("rms_norm", 1e-12)
    x = np.full((1, 1, HIDDEN), 5.0, "float32")
    np.testing.assert_allclose(to_numpy(layer(x)), 1.0, atol=1e-6)
    assert [weight.name for weight in layer.weights] == ["scale"]


@BOTH
@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
def test_statistics_are_float32_in_half_precision(norm, dtype):
    """Squares of 300 are beyond float16; sums of 4000 beyond bfloat16."""
    x = 300 * sine((2, 3, 4000))
    layer = make_norm(norm, 1e-12, dtype=dtype)
    half = ops.cast(x, layer.compute_dtype)
    found = layer(half)
    assert keras.backend.standardize_dtype(found.dtype) == layer.compute_dtype
    x = to_numpy(half).astype("float64")
    if norm == "layer_norm":
        x = x - x.mean(axis=-1, keepdims=True)
    expected = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True))
    step = 2**-10 if dtype == "mixed_float16" else 2**-7
    np.testing.assert_allclose(to_numpy(found), expected, atol=2 * step)


@pytest.mark.parametrize("norm", ["LayerNorm", "batch_norm", None, ["rms"]])
def test_an_unknown_norm_is_refused(norm):
    with pytest.raises(ValueError, match="`norm` must be one of"):
        make_norm(norm, 1e-12)


@BOTH
@pytest.mark.parametrize("epsilon", [-1e-5, "1", None])
def test_an_epsilon_out_of_range_is_refused(norm, epsilon):
    with pytest.raises(ValueError, match="layer_norm_epsilon="):
        make_norm(norm, epsilon)
