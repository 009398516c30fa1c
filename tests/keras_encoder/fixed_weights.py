"""Weights and inputs that are the same numbers on every backend.

They come from NumPy, not from a backend's random generator. Sines of a ramp
keep activations in range, and no two weights are alike, so a swapped axis or
a weight in the wrong place shows. Every axis has a size of its own.
"""

import numpy as np

from keras_encoder import Encoder

BATCH, SEQ, HIDDEN, HEADS, INTERMEDIATE = 3, 5, 8, 2, 12
VOCABULARY, MAX_SEQ, SEGMENTS, LAYERS = 23, 11, 2, 2
# One encoder for each thing that Hugging Face's BERT cannot say, and one with
# several.
UNLIKE_BERT = (
    dict(norm_first=True),
    dict(positions=None),
    dict(positions="sinusoidal"),
    dict(positions="relative"),
    dict(positions="rotary"),
    dict(norm="rms_norm"),
    dict(activation="geglu"),
    dict(
        positions="rotary",
        norm="rms_norm",
        activation="geglu",
        norm_first=True,
    ),
)


def sine(shape, phase=0.0, scale=1.0):
    """A float32 array of the shape: sines of a ramp, times a scale."""
    ramp = np.arange(np.prod(shape, dtype=int), dtype="float64")
    values = scale * np.sin(1.7 * ramp + phase)
    return values.reshape(shape).astype("float32")


def set_sine_weights(layer):
    """Gives every weight of a layer fixed values; norms' lie around 1."""
    for index, variable in enumerate(layer.weights):
        values = sine(variable.shape, phase=index, scale=0.3)
        variable.assign(values + (variable.name in ("gamma", "scale")))
    return layer


def states(batch=BATCH, seq=SEQ, hidden=HIDDEN, phase=0.5):
    """Hidden states (batch, seq, hidden)."""
    return sine((batch, seq, hidden), phase)


def padding_mask(seq=SEQ):
    """A mask (3, seq) whose rows have seq, seq - 2 and 2 real tokens."""
    lengths = np.array([[seq], [seq - 2], [2]])
    return (np.arange(seq) < lengths).astype("int32")


def tiny_encoder(**changes):
    """An `Encoder` with fixed weights and, unless asked for, no dropout."""
    arguments = dict(
        vocabulary_size=VOCABULARY,
        num_layers=LAYERS,
        num_heads=HEADS,
        hidden_dim=HIDDEN,
        intermediate_dim=INTERMEDIATE,
        dropout=0.0,
        attention_dropout=0.0,
        max_sequence_length=MAX_SEQ,
        num_segments=SEGMENTS,
    )
    return set_sine_weights(Encoder(**{**arguments, **changes}))


def encoder_inputs(batch=BATCH, seq=SEQ):
    """A dict of the three inputs; the mask has padding in all rows but one."""
    order = np.arange(batch * seq).reshape(batch, seq)
    lengths = np.maximum(seq - 2 * np.arange(batch), 2)[:, None]
    return {
        "token_ids": (7 * order % VOCABULARY).astype("int32"),
        "segment_ids": (order % seq >= seq // 2).astype("int32"),
        "padding_mask": (np.arange(seq) < lengths).astype("int32"),
    }
