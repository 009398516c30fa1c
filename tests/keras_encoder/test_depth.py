"""What residuals and the place of the norms do for deep stacks, measured.

Properties of the formulas, not of a backend, so they run once.
"""

import keras
import numpy as np
import pytest
from keras import ops

from keras_encoder import Encoder, TokenTagger
from keras_encoder.diagnostics import gradient_norms
from keras_encoder.layers import EncoderBlock
from tests.keras_encoder.fixed_weights import encoder_inputs

pytestmark = pytest.mark.backend_free

VOCABULARY, WIDTH, LENGTH = 16, 32, 8


def stack(num_layers, norm_first, deviation=None, seed=0):
    """An encoder with NumPy's random kernels, of Glorot's size or another."""
    encoder = Encoder(
        VOCABULARY,
        num_layers,
        num_heads=2,
        hidden_dim=WIDTH,
        intermediate_dim=2 * WIDTH,
        dropout=0.0,
        attention_dropout=0.0,
        max_sequence_length=LENGTH,
        norm_first=norm_first,
    )
    rng = np.random.default_rng(seed)
    for variable in encoder.weights:
        if variable.name == "kernel":
            scale = deviation or np.sqrt(2 / sum(variable.shape))
            variable.assign(scale * rng.normal(size=variable.shape))
        elif variable.name == "embeddings":
            variable.assign(0.3 * rng.normal(size=variable.shape))
    return encoder


def gradients(norm_first, deviation=None, num_layers=24):
    """Gradient norms of the first and the last block of a deep stack."""
    encoder = stack(num_layers, norm_first, deviation)
    inputs = encoder_inputs(4, LENGTH)
    inputs["token_ids"] %= VOCABULARY
    target = np.random.default_rng(1).normal(size=(4, LENGTH, WIDTH))
    norms = gradient_norms(
        encoder,
        inputs,
        lambda outputs: ops.mean(
            ops.square(
                ops.subtract(
                    outputs["sequence_output"], target.astype("float32")
                )
            )
        ),
    )
    return norms["block_0"], norms[f"block_{num_layers - 1}"]


def without_residuals(self, hidden_states, padding_mask=None, **kwargs):
    x = self.attention(
        self.attention_norm(hidden_states), padding_mask=padding_mask
    )
    return self.feed_forward(self.feed_forward_norm(x))


def without_residuals_and_norms(
    self, hidden_states, padding_mask=None, **kwargs
):
    x = self.attention(hidden_states, padding_mask=padding_mask)
    return self.feed_forward(x)


@pytest.fixture(scope="module")
def usual():
    """Of a pre-norm stack with residuals and kernels as BERT starts."""
    return gradients(norm_first=True, deviation=0.02)


def test_pre_norm_with_residuals_has_equal_gradients_in_24_layers(usual):
    """Ratio 0.99 to 1.02, by seed."""
    first, last = usual
    assert 0.9 < first / last < 1.1


def test_post_norm_with_residuals_has_smaller_gradients_below():
    """Ratio 0.20 to 0.23."""
    first, last = gradients(norm_first=False, deviation=0.02)
    assert 0.1 < first / last < 0.5


def test_without_residuals_and_norms_the_gradient_is_gone(monkeypatch):
    """Ratio 3e-8 to 3e-7 with Glorot's kernels; 0 in float32 with BERT's."""
    monkeypatch.setattr(EncoderBlock, "call", without_residuals_and_norms)
    first, last = gradients(norm_first=True)
    assert 0 < first / last < 1e-5


def test_norms_alone_keep_the_gradient_but_not_its_size(usual, monkeypatch):
    """With norms and no residuals it does not vanish, as is often said.

    The ratio is anything from 0.03 to 5, by seed; with kernels as BERT starts
    all gradients are some hundred times those of a stack with residuals.
    """
    monkeypatch.setattr(EncoderBlock, "call", without_residuals)
    first, last = gradients(norm_first=True, deviation=0.02)
    assert 1e-3 < first / last < 1e3
    assert first > 20 * usual[0]


def loss_after_training(norm_first, learning_rate):
    """Mean loss of the second epoch at telling each left neighbour."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(2, VOCABULARY, (800, LENGTH)).astype("int32")
    labels = np.roll(tokens, 1, axis=1)
    model = TokenTagger(stack(4, norm_first), VOCABULARY, dropout=0.0)
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    history = model.fit(
        {"token_ids": tokens}, labels, batch_size=20, epochs=2, verbose=0
    )
    return history.history["loss"][-1]


def test_pre_norm_trains_where_post_norm_does_not():
    """4 layers, 80 steps of Adam at 0.02 without warm-up: 0.03 and 2.65."""
    chance = np.log(VOCABULARY - 2)
    pre = loss_after_training(norm_first=True, learning_rate=0.02)
    post = loss_after_training(norm_first=False, learning_rate=0.02)
    assert pre < 0.2 * chance
    assert post > 0.9 * chance
