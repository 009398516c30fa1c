"""What is computed otherwise in training has PyTorch's values and gradients.

TensorFlow has its own forms of GELU, layer norm and Adam; the comparison is
the same on every backend.
"""

import keras
import numpy as np
import pytest
import torch

from keras_encoder.layers import FeedForward
from keras_encoder.layers.norms import make_norm
from keras_encoder.optimization import make_optimizer
from tests.keras_encoder.fixed_weights import set_sine_weights, sine
from tests.keras_encoder.layer_contract import policy, to_numpy
from tests.keras_encoder.training_step import gradients_of

WIDTH, INNER, ROWS, SEQ = 8, 12, 3, 5
# The step of each precision, in shares of the largest gradient.
PRECISIONS = pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 5e-5), ("mixed_bfloat16", 0.03), ("mixed_float16", 0.004)],
)


def after_an_embedding(make_layer, scale=3.0):
    """A model whose first weights are what the layer reads."""
    embedding = keras.layers.Embedding(ROWS * SEQ, WIDTH)
    model = keras.Sequential([embedding, make_layer()])
    model.build((None, SEQ))
    set_sine_weights(model)
    # Of all sizes: most values of GELU are far from both of its straight ends.
    embedding.set_weights([scale * (sine((ROWS * SEQ, WIDTH)) + 0.2)])
    return model


def compare(model, formula, tolerance):
    """Compares outputs and gradients with `formula(x, *weights)` in PyTorch."""
    ids = np.arange(ROWS * SEQ).reshape(ROWS, SEQ)
    labels = ids % WIDTH
    weights = [
        torch.tensor(w.numpy().astype("float64"), requires_grad=True)
        for w in model.trainable_weights
    ]
    expected = formula(*weights)
    loss = torch.nn.functional.cross_entropy(
        expected, torch.tensor(labels.ravel())
    )
    loss.backward()
    found = to_numpy(model(ids, training=True)).reshape(-1, WIDTH)
    expected = expected.detach().numpy()
    np.testing.assert_allclose(
        found, expected, atol=tolerance * np.abs(expected).max()
    )
    gradients = gradients_of(model, ids, labels)
    for (path, found), weight in zip(gradients, weights, strict=True):
        expected = weight.grad.numpy()
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            found / scale, expected / scale, atol=tolerance, err_msg=path
        )


@PRECISIONS
@pytest.mark.parametrize("epsilon", [1e-12, 0.1])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_layer_norm(dtype, tolerance, epsilon, scale):
    with policy(dtype):
        model = after_an_embedding(
            lambda: make_norm("layer_norm", epsilon), scale
        )
    compare(
        model,
        lambda x, gamma, beta: torch.nn.functional.layer_norm(
            x, (WIDTH,), gamma, beta, epsilon
        ),
        tolerance,
    )


@PRECISIONS
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_gelu(dtype, tolerance, scale):
    with policy(dtype):
        model = after_an_embedding(
            lambda: FeedForward(INNER, activation="gelu"), scale
        )
    gelu = torch.nn.functional.gelu
    compare(model, lambda x, a, b, c, d: gelu(x @ a + b) @ c + d, tolerance)


@PRECISIONS
def test_geglu(dtype, tolerance):
    with policy(dtype):
        model = after_an_embedding(
            lambda: FeedForward(INNER, activation="geglu")
        )
    gelu = torch.nn.functional.gelu
    compare(
        model,
        lambda x, a, b, g, h, c, d: (gelu(x @ g + h) * (x @ a + b)) @ c + d,
        tolerance,
    )


@pytest.mark.parametrize("clip_norm", [None, 0.5])
@pytest.mark.parametrize("layer_decay", [1.0, 0.9])
def test_adam_with_decay_and_clipping(clip_norm, layer_decay):
    shapes = {"kernel": (4, 3), "bias": (3,)}
    ours = [keras.Variable(sine(s), name=n) for n, s in shapes.items()]
    optimizer = make_optimizer(
        ours,
        0.01,
        total_steps=10**9,
        warmup=0.0,
        weight_decay=0.1,
        clip_norm=clip_norm,
        layer_decay=layer_decay,
        num_layers=2,
    )
    theirs = [torch.nn.Parameter(torch.tensor(v.numpy())) for v in ours]
    peer = torch.optim.AdamW(
        [
            {"params": theirs[:1], "weight_decay": 0.1},
            {"params": theirs[1:], "weight_decay": 0.0},
        ],
        lr=0.01,
    )
    generator = np.random.default_rng(0)
    for _ in range(5):
        steps = [
            generator.normal(size=s).astype("float32") for s in shapes.values()
        ]
        optimizer.apply([keras.ops.convert_to_tensor(g) for g in steps], ours)
        for parameter, gradient in zip(theirs, steps, strict=True):
            parameter.grad = torch.tensor(gradient)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(theirs, clip_norm)
        peer.step()
    for variable, parameter in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(
            variable.numpy(), parameter.detach().numpy(), rtol=1e-5, atol=1e-6
        )
