"""Parameters and operations of an encoder, by component, from its sizes."""


def parameters(size: dict) -> dict[str, int]:
    """Number of weights by component.

    Args:
        size: arguments of `Encoder`.

    Returns:
        Dict of component -> count; their sum is the whole encoder, pooler
        included.
    """
    hidden, inner = size["hidden_dim"], size["intermediate_dim"]
    tables = (
        size["vocabulary_size"]
        + size.get("max_sequence_length", 512)
        + size.get("num_segments", 2)
    )
    layers = size["num_layers"]
    norms = 4 * hidden * layers
    if size.get("norm_first"):
        norms += 2 * hidden
    return {
        "embeddings": tables * hidden + 2 * hidden,
        "attention": layers * 4 * (hidden * hidden + hidden),
        "feed-forward": layers * (2 * hidden * inner + inner + hidden),
        "layer norms": norms,
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
    return {
        "projections": 2 * layers * 4 * length * hidden * hidden,
        "scores and weighted sum": 2 * layers * 2 * length * length * hidden,
        "feed-forward": (
            2 * layers * 2 * length * hidden * size["intermediate_dim"]
        ),
        "pooler": 2 * hidden * hidden,
    }
