"""The formulas of the encoder in NumPy and float64, written from the papers.

Nothing here is shared with the library; one product a head, no tricks.
"""

import math

import numpy as np


def weights_of(layer):
    """Dict of path below the layer -> float64 array."""
    return {
        variable.path.split("/", 1)[1]: variable.numpy().astype("float64")
        for variable in layer.weights
    }


def below(weights, prefix):
    """The weights of one sub-layer."""
    return {
        name.removeprefix(f"{prefix}/"): array
        for name, array in weights.items()
        if name.startswith(f"{prefix}/")
    }


def dense(x, weights, name):
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def layer_norm(x, weights, epsilon):
    variance = x.var(axis=-1, keepdims=True)
    normal = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + epsilon)
    return normal * weights["gamma"] + weights["beta"]


def rms_norm(x, weights, epsilon):
    mean_square = np.square(x).mean(axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + epsilon) * weights["scale"]


NORMS = {"layer_norm": layer_norm, "rms_norm": rms_norm}


def gelu(x):
    """x * P(X <= x), X standard normal."""
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


ACTIVATIONS = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
}


def attention(x, weights, num_heads, mask=None):
    """Returns the output and the probabilities (batch, heads, seq, seq)."""
    x = x.astype("float64")
    query, key, value = (
        dense(x, weights, name) for name in ("query", "key", "value")
    )
    head_dim = x.shape[-1] // num_heads
    heads, probabilities = [], []
    for head in range(num_heads):
        part = slice(head * head_dim, (head + 1) * head_dim)
        scores = np.einsum("bqd,bkd->bqk", query[..., part], key[..., part])
        scores /= math.sqrt(head_dim)
        if mask is not None:
            scores = np.where(mask[:, None, :] != 0, scores, -np.inf)
        probabilities.append(softmax(scores))
        heads.append(probabilities[-1] @ value[..., part])
    output = dense(np.concatenate(heads, axis=-1), weights, "output")
    return output, np.stack(probabilities, axis=1)


def feed_forward(x, weights, activation):
    wide = dense(x, weights, "intermediate")
    if activation == "geglu":
        wide = gelu(dense(x, weights, "gate")) * wide
    else:
        wide = ACTIVATIONS[activation](wide)
    return dense(wide, weights, "output")


def block(
    x,
    weights,
    num_heads,
    mask,
    activation,
    epsilon,
    norm_first,
    norm="layer_norm",
):
    """One encoder block, in post-norm or pre-norm form."""

    def attend(states):
        return attention(states, below(weights, "attention"), num_heads, mask)[
            0
        ]

    def widen(states):
        return feed_forward(states, below(weights, "feed_forward"), activation)

    def first_norm(states):
        return NORMS[norm](states, below(weights, "attention_norm"), epsilon)

    def second_norm(states):
        own = below(weights, "feed_forward_norm")
        return NORMS[norm](states, own, epsilon)

    if norm_first:
        x = x + attend(first_norm(x))
        return x + widen(second_norm(x))
    x = first_norm(x + attend(x))
    return second_norm(x + widen(x))


def embeddings(token_ids, segment_ids, weights, epsilon):
    summed = (
        weights["token_embedding/embeddings"][token_ids]
        + weights["segment_embedding/embeddings"][segment_ids]
        + weights["positions/embeddings"][np.arange(token_ids.shape[1])]
    )
    return layer_norm(summed, below(weights, "norm"), epsilon)
