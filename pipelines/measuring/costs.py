"""Parameters and operations of an encoder, by component, from its sizes."""

import math

from keras_encoder.layers.feed_forward import GATED
from keras_encoder.layers.norms import make_norm
from keras_encoder.layers.positions import POSITIONS


def parameters(size: dict) -> dict[str, int]:
    """Number of weights by component.

    Args:
        size: arguments of `Encoder`.

    Returns:
        Dict of component -> count; their sum is the whole encoder, pooler
        included.
    """
    hidden, inner = size["hidden_dim"], size["intermediate_dim"]
    tables = size["vocabulary_size"] + size.get("num_segments", 2)
    layers = size["num_layers"]
    norm = _norm_weights(size)
    widening = (_products(size) - 1) * (hidden * inner + inner)
    return {
        "embeddings": tables * hidden + _position_weights(size) + norm,
        "attention": layers * 4 * (hidden * hidden + hidden),
        "feed-forward": layers * (widening + inner * hidden + hidden),
        "layer norms": norm * (2 * layers + bool(size.get("norm_first"))),
        "pooler": hidden * hidden + hidden,
    }


def operations(size: dict, length: int) -> dict[str, int]:
    """Floating-point operations of one forward pass on one input.

    A multiplication with its addition counts as two. Only matrix products
    are counted: the rest is a few operations a value.

    Args:
        size: arguments of `Encoder`.
        length: tokens of the input.
    """
    hidden, layers = size["hidden_dim"], size["num_layers"]
    products = _products(size)
    return {
        "projections": 2 * layers * 4 * length * hidden * hidden,
        "scores and weighted sum": 2 * layers * 2 * length * length * hidden,
        "feed-forward": (
            2 * layers * products * length * hidden * size["intermediate_dim"]
        ),
        "pooler": 2 * hidden * hidden,
    }


def crossover_length(size: dict) -> int:
    """Length from which scores and weighted sum cost more than feed-forward.

    They are as many operations where `2 length = products * inner width`: at
    four times the hidden width in BERT, half as much again with a gate.
    """
    return math.ceil(_products(size) * size["intermediate_dim"] / 2)


def _products(size):
    """Matrix products of a feed-forward network; all but one widen."""
    return 3 if size.get("activation") in GATED else 2


# Counted, not calculated: each kind knows its own weights.
def _norm_weights(size):
    norm = make_norm(size.get("norm", "layer_norm"), 0.0)
    norm.build((None, None, size["hidden_dim"]))
    return norm.count_params()


def _position_weights(size):
    kind = size.get("positions", "learned")
    if kind is None:
        return 0
    layer = POSITIONS[kind].for_encoder(
        size.get("max_sequence_length", 512), size["num_heads"], "zeros"
    )
    layer.build((None, None, size["hidden_dim"]))
    return layer.count_params()
