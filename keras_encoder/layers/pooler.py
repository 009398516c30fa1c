"""The pooler: a dense layer with tanh on the first token."""

import keras


@keras.saving.register_keras_serializable(package="keras_encoder")
class Pooler(keras.layers.Layer):
    """`tanh(x_first W + b)`, BERT's summary of the whole input.

    Args:
        kernel_initializer: initializer of the kernel.

    Call arguments:
        hidden_states: tensor (batch, seq, hidden), seq of 1 or more; only
            position 0 is read.

    Returns:
        Tensor (batch, hidden).
    """

    def __init__(self, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, hidden_states_shape):
        hidden_dim = hidden_states_shape[-1]
        self.dense = keras.layers.Dense(
            hidden_dim,
            activation="tanh",
            kernel_initializer=self.kernel_initializer.clone(),
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build((None, hidden_dim))

    def call(self, hidden_states):
        return self.dense(hidden_states[:, 0])

    def compute_output_shape(self, hidden_states_shape):
        return (hidden_states_shape[0], hidden_states_shape[-1])

    def get_config(self):
        config = super().get_config()
        config["kernel_initializer"] = keras.initializers.serialize(
            self.kernel_initializer
        )
        return config
