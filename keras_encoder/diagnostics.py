"""What happens inside an encoder, as numbers: for notebooks and tests."""

import collections
import warnings

import keras
import numpy as np
from keras import ops


def gradient_norms(model, inputs, loss):
    """Norm of the loss's gradient by layer, dropout off, weights untouched.

    Args:
        model: `Encoder`, or a head with an `encoder`. Its compiled state, if
            it has one, stays as it is.
        inputs: dict of arrays, one batch.
        loss: function from what the model returns to a scalar tensor.

    Returns:
        Dict of layer -> float: `"embeddings"`, `"block_0"` and so on, in the
        order of the pass; layers without trainable weights are left out,
        those that the loss does not read have 0.
    """
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
    squares = collections.Counter()
    for variable, gradient in zip(
        probe.trainable_weights, recorder.gradients, strict=True
    ):
        square = np.sum(gradient.numpy().astype("float64") ** 2)
        squares[_layer_of(variable, model)] += square
    return {name: float(np.sqrt(value)) for name, value in squares.items()}


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
    real = _mask(inputs) != 0
    outputs = encoder(inputs, return_attention_scores=True)
    entropies = []
    for scores in outputs["attention_scores"]:
        scores = _to_numpy(scores)  # (batch, heads, seq, seq)
        logs = np.log(np.where(scores > 0, scores, 1.0))  # 0 log 0 = 0
        entropy = -(scores * logs).sum(axis=-1)
        entropies.append(entropy.transpose(0, 2, 1)[real].mean(axis=0))
    return np.stack(entropies)


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
    """The layer of an encoder that a weight belongs to, or `"head"`."""
    encoder = getattr(model, "encoder", model)
    prefix = f"{encoder.path or encoder.name}/"
    if not variable.path.startswith(prefix):
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
