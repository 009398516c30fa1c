"""Position-wise feed-forward network."""

import keras
from keras import ops

from keras_encoder.layers.checks import check_positive

ACTIVATIONS = {
    # GELU(x) = x * Phi(x), Phi the standard normal distribution function:
    # https://arxiv.org/abs/1606.08415. `gelu_tanh` is its approximation
    # 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
    "gelu": lambda x: keras.activations.gelu(x, approximate=False),
    "gelu_tanh": lambda x: keras.activations.gelu(x, approximate=True),
    "relu": keras.activations.relu,
    # GEGLU: the GELU of one projection gates another,
    # https://arxiv.org/abs/2002.05202.
    "geglu": lambda x: keras.activations.gelu(x, approximate=False),
}
# The same in training, where a backend has a faster form.
TRAINING_ACTIVATIONS = dict(ACTIVATIONS)
if keras.backend.backend() == "tensorflow":
    from keras_encoder import tensorflow_kernels

    TRAINING_ACTIVATIONS["gelu"] = tensorflow_kernels.gelu
    TRAINING_ACTIVATIONS["geglu"] = tensorflow_kernels.gelu
GATED = ("geglu",)


def check_activation(activation):
    """Raises ValueError unless `activation` is a name in ACTIVATIONS."""
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ValueError(
            f"`activation` must be one of {sorted(ACTIVATIONS)}. Received: "
            f"activation={activation!r}"
        )


@keras.saving.register_keras_serializable(package="keras_encoder")
class FeedForward(keras.layers.Layer):
    """`activation(x W_1 + b_1) W_2 + b_2`, on each position alone.

    With `"geglu"` it is `(GELU(x W_g + b_g) * (x W_1 + b_1)) W_2 + b_2`, half
    as many weights again; two thirds of the width make it as many.

    Args:
        intermediate_dim: int. Width between the products; BERT uses four
            times the hidden width.
        activation: `"gelu"` (exact), `"gelu_tanh"`, `"relu"` or `"geglu"`.
        kernel_initializer: initializer of the kernels.

    Call arguments:
        hidden_states: tensor (batch, seq, hidden).
        training: bool. The numbers are the same; only how fast gradients are
            computed is not.

    Returns:
        Tensor (batch, seq, hidden).
    """

    def __init__(
        self,
        intermediate_dim,
        activation="gelu",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(intermediate_dim=intermediate_dim)
        check_activation(activation)
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, hidden_states_shape):
        hidden_dim = hidden_states_shape[-1]
        wide = self.intermediate_dim
        self.intermediate_dense = self._dense(hidden_dim, wide, "intermediate")
        self.gate_dense = None
        if self.activation in GATED:
            self.gate_dense = self._dense(hidden_dim, wide, "gate")
        self.output_dense = self._dense(wide, hidden_dim, "output")

    def _dense(self, input_dim, output_dim, name):
        dense = keras.layers.Dense(
            output_dim,
            kernel_initializer=self.kernel_initializer.clone(),
            dtype=self.dtype_policy,
            name=name,
        )
        dense.build((None, input_dim))
        return dense

    def call(self, hidden_states, training=False):
        # One axis of positions: between two reshapes TensorFlow does not fuse
        # a product with its bias.
        hidden_dim = hidden_states.shape[-1]
        positions = ops.reshape(hidden_states, (-1, hidden_dim))
        wide = self.intermediate_dense(positions)  # (batch * seq, 4 hidden)
        activations = TRAINING_ACTIVATIONS if training else ACTIVATIONS
        activate = activations[self.activation]
        if self.gate_dense is None:
            wide = activate(wide)
        else:
            wide = activate(self.gate_dense(positions)) * wide
        output = self.output_dense(wide)
        return ops.reshape(output, (*ops.shape(hidden_states)[:-1], hidden_dim))

    def compute_output_shape(self, hidden_states_shape):
        return tuple(hidden_states_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            intermediate_dim=self.intermediate_dim,
            activation=self.activation,
            kernel_initializer=keras.initializers.serialize(
                self.kernel_initializer
            ),
        )
        return config
