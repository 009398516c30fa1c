"""What happens inside an encoder, as numbers: for notebooks and tests."""

import collections
import warnings

import keras
import numpy as np
from keras import ops


def gradient_norms(model, inputs, loss):
    """Norm of the loss's gradient by layer, dropout off, weights untouched.

    Args:
        model: `Encoder`, a head with an `encoder`, or any other Keras model
            of a dict. Its compiled state, if it has one, stays as it is.
        inputs: dict of arrays, one batch.
        loss: function from what the model returns to a scalar tensor.

    Returns:
        Dict of layer -> float: `"embeddings"`, `"block_0"` and so on, in the
        order of the pass (of another model its own layers); layers without
        trainable weights are left out, those that the loss does not read
        have 0.
    """
    squares = collections.Counter()
    for variable, gradient in _gradients(model, inputs, loss):
        square = np.sum(gradient.astype("float64") ** 2)
        squares[_layer_of(variable, model)] += square
    return {name: float(np.sqrt(value)) for name, value in squares.items()}


def attributions(model, inputs, scalar):
    """Gradient times input: what each token adds to a number, linearly.

    The product of a token's embedding, as the first block reads it, with the
    gradient there. Dropout is off, weights stay as they are. The sum over
    the tokens is not the number itself: the model is not linear.

    Args:
        model: `SequenceClassifier` or `TokenTagger`.
        inputs: dict of arrays, one batch.
        scalar: function from the logits to a scalar tensor, such as the sum
            over the batch of the logits of one class.

    Returns:
        float64 array (batch, seq): above 0 where a token raises the scalar.

    Reference:
        [Shrikumar et al., 2017](https://arxiv.org/abs/1605.01713)
    """
    embeddings = _to_numpy(model.encoder.embed(inputs))
    shifted = _Shifted(model, embeddings.shape)
    (gradient,) = (
        gradient
        for variable, gradient in _gradients(shifted, inputs, scalar)
        if variable is shifted.shift
    )
    return (embeddings * gradient).sum(axis=-1)


def _gradients(model, inputs, loss):
    """Pairs of each trainable variable and its gradient, a NumPy array."""
    probe, recorder = _Probe(model, loss), _Recorder()
    probe.compile(
        optimizer=recorder,
        # For one step a graph does not pay, but JAX would compile each
        # operation without one.
        run_eagerly=keras.backend.backend() == "tensorflow",
        jit_compile=keras.backend.backend() == "jax",
    )
    batch = len(next(iter(inputs.values())))
    with warnings.catch_warnings():
        # A pooler that no loss reads has no gradient; its norm is 0.
        warnings.filterwarnings("ignore", "Gradients do not exist")
        probe.fit(
            inputs,
            np.zeros(batch),
            batch_size=batch,
            shuffle=False,  # the loss may know the targets of each row
            verbose=0,
        )
    gradients = [gradient.numpy() for gradient in recorder.gradients]
    return list(zip(probe.trainable_weights, gradients, strict=True))


class _Probe(keras.Model):
    """A model around another: its output is that one's loss."""

    def __init__(self, model, loss):
        super().__init__(name="probe")  # a class name of `_` makes none
        self.model = model
        self.scalar = loss
        self.built = True

    def call(self, inputs):
        return self.scalar(self.model(inputs, training=False))

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        return y_pred


class _Shifted(keras.Model):
    """A head whose embeddings have a weight of zeros added.

    The gradient of that weight is the one of the embeddings, and every
    backend gives the gradients of weights.
    """

    def __init__(self, model, shape):
        super().__init__(name="shifted")
        self.model = model
        self.shift = self.add_weight(
            shape=shape, initializer="zeros", name="shift"
        )
        self.built = True

    def call(self, inputs, training=None):
        encoder = self.model.encoder
        states = encoder.encode(
            encoder.embed(inputs) + self.shift,
            padding_mask=inputs.get("padding_mask"),
            first_token_only=self.model.reads_first_token,
        )
        return self.model.head(states)


class _Recorder(keras.optimizers.Optimizer):
    """Keeps the gradients of its one step and changes nothing.

    All backends hand them to their optimizer, so no backend's own way to
    differentiate is needed; and a small gradient is not lost in the
    rounding of a weight.
    """

    def __init__(self):
        super().__init__(learning_rate=0.0)

    def build(self, variables):
        super().build(variables)
        self.gradients = [
            self.add_variable_from_reference(variable, "gradient")
            for variable in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        kept = self.gradients[self._get_variable_index(variable)]
        # Added, not assigned: TensorFlow has one gradient a looked-up row.
        self.assign_add(kept, gradient)


def largest_difference(one, other):
    """Largest absolute difference of two tensors or arrays, as a float.

    Args:
        one: tensor or array; a NaN in it gives NaN.
        other: of a shape that broadcasts with it.
    """
    return float(np.abs(_to_numpy(one) - _to_numpy(other)).max())


def activation_variances(encoder, inputs):
    """Variance of the hidden states after each layer, over real tokens.

    Args:
        encoder: `Encoder`.
        inputs: dict of arrays, as for the encoder.

    Returns:
        Dict of layer -> float: `"embeddings"`, `"block_0"` and so on, and
        `"final_norm"` where there is one. The blocks' are before it.
    """
    mask = _mask(inputs)
    states = encoder.embed(inputs)
    by_layer = {"embeddings": states}
    for index in range(encoder.num_layers):
        states = encoder.encode(states, mask, start=index, stop=index + 1)
        by_layer[f"block_{index}"] = states
    if encoder.final_norm is not None:
        by_layer["final_norm"] = encoder.final_norm(states)
    return {
        name: float(_to_numpy(states)[mask != 0].var())
        for name, states in by_layer.items()
    }


def attention_entropies(encoder, inputs):
    """Mean entropy of the attention by layer and head, in nats.

    `-sum p log p` over the keys of a query, averaged over the queries that
    are real tokens: 0 where each looks at one token, log(n) where all look at
    n tokens alike.

    Args:
        encoder: `Encoder`.
        inputs: dict of arrays, as for the encoder.

    Returns:
        float64 array (layers, heads).
    """

    def entropy(scores):
        logs = np.log(np.where(scores > 0, scores, 1.0))  # 0 log 0 = 0
        return -(scores * logs).sum(axis=-1)

    return _over_queries(encoder, inputs, entropy)


def attention_distances(encoder, inputs):
    """Mean distance of the attention by layer and head, in tokens.

    `sum p |query - key|` over the keys, averaged over the queries that are
    real tokens.

    Args:
        encoder: `Encoder`.
        inputs: dict of arrays, as for the encoder.

    Returns:
        float64 array (layers, heads).
    """
    place = np.arange(_mask(inputs).shape[1])
    apart = np.abs(place[:, None] - place)  # (queries, keys)
    return _over_queries(
        encoder, inputs, lambda scores: (scores * apart).sum(axis=-1)
    )


def _over_queries(encoder, inputs, measure):
    """The mean over the real queries of what is measured of each.

    Args:
        encoder, inputs: as for `attention_entropies`.
        measure: scores (batch, heads, seq, seq) -> (batch, heads, seq).

    Returns:
        float64 array (layers, heads).
    """
    real = _mask(inputs) != 0
    outputs = encoder(inputs, return_attention_scores=True)
    return np.stack(
        [
            measure(_to_numpy(scores)).transpose(0, 2, 1)[real].mean(axis=0)
            for scores in outputs["attention_scores"]
        ]
    )


def parameter_table(model):
    """Number and share of the weights by component.

    Args:
        model: `Encoder`, or a head with an `encoder`.

    Returns:
        Dict of component -> (count, share): embeddings, attention,
        feed-forward, layer norms, pooler, and the head if there is one. The
        norm of the embeddings counts as embeddings.
    """
    counts = collections.Counter()
    for variable in model.weights:
        count = int(np.prod(variable.shape))
        counts[_component(variable, _layer_of(variable, model))] += count
    total = sum(counts.values())
    return {name: (count, count / total) for name, count in counts.items()}


def _component(variable, layer):
    if layer == "final_norm":
        return "layer norms"
    if not layer.startswith("block_"):
        return layer
    part = variable.path.partition(f"{layer}/")[2].partition("/")[0]
    if part.endswith("_norm"):
        return "layer norms"
    return part.replace("_", "-")


def _layer_of(variable, model):
    """The layer of an encoder that a weight belongs to, or `"head"`.

    Of a model without an encoder, the model's own layer.
    """
    encoder = getattr(model, "encoder", model)
    prefix = f"{encoder.path or encoder.name}/"
    if encoder is not model and not variable.path.startswith(prefix):
        return "head"
    return variable.path.removeprefix(prefix).partition("/")[0]


def _mask(inputs):
    mask = inputs.get("padding_mask")
    if mask is None:
        return np.ones_like(inputs["token_ids"])
    return np.asarray(mask)


def _to_numpy(tensor):
    tensor = ops.cast(tensor, "float32")
    return ops.convert_to_numpy(tensor).astype("float64")
