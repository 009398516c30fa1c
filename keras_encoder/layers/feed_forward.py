"""Position-wise feed-forward network."""

import keras

from keras_encoder.layers.checks import check_positive

ACTIVATIONS = {
    # GELU(x) = x * Phi(x), Phi the standard normal distribution function:
    # https://arxiv.org/abs/1606.08415. `gelu_tanh` is its approximation
    # 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
    "gelu": lambda x: keras.activations.gelu(x, approximate=False),
    "gelu_tanh": lambda x: keras.activations.gelu(x, approximate=True),
    "relu": keras.activations.relu,
}


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

    Args:
        intermediate_dim: int. Width between the two products; BERT uses
            four times the hidden width.
        activation: `"gelu"` (exact), `"gelu_tanh"` or `"relu"`.
        kernel_initializer: initializer of both kernels.

    Call arguments:
        hidden_states: tensor (batch, seq, hidden).

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
        self.intermediate_dense = keras.layers.Dense(
            self.intermediate_dim,
            kernel_initializer=self.kernel_initializer.clone(),
            dtype=self.dtype_policy,
            name="intermediate",
        )
        self.output_dense = keras.layers.Dense(
            hidden_dim,
            kernel_initializer=self.kernel_initializer.clone(),
            dtype=self.dtype_policy,
            name="output",
        )
        self.intermediate_dense.build((None, None, hidden_dim))
        self.output_dense.build((None, None, self.intermediate_dim))

    def call(self, hidden_states):
        wide = self.intermediate_dense(hidden_states)  # (batch, seq, 4 hidden)
        return self.output_dense(ACTIVATIONS[self.activation](wide))

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
