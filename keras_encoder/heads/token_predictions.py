"""What guesses tokens from states, for the models that do."""

import keras
from keras import ops

from keras_encoder.layers.feed_forward import ACTIVATIONS, check_activation
from keras_encoder.layers.initializers import bert_initializer


@keras.saving.register_keras_serializable(package="keras_encoder")
class TokenPredictions(keras.layers.Layer):
    """`LayerNorm(activation(x W + b)) E^T + c`, E the token embeddings.

    The decoder is tied: it has no matrix of its own, so what it learns moves
    the embeddings. All of it runs in float32, whatever the encoder's policy.

    Args:
        vocabulary_size: int. Number of token ids.
        hidden_dim: int. Width of the states.
        activation: `"gelu"` (exact), `"gelu_tanh"` or `"relu"`.
        layer_norm_epsilon: float. Added to the variance.

    Call arguments:
        states: tensor (batch, seq, hidden).
        token_embeddings: tensor or variable (vocabulary, hidden).

    Returns:
        float32 tensor (batch, seq, vocabulary) of logits.

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), 3.1; tied:
        [Press and Wolf, 2017](https://arxiv.org/abs/1608.05859)
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        **kwargs,
    ):
        super().__init__(**{**kwargs, "dtype": "float32"})
        check_activation(activation)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.transform = keras.layers.Dense(
            hidden_dim,
            kernel_initializer=bert_initializer(),
            dtype="float32",
            name="transform",
        )
        self.norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_epsilon, dtype="float32", name="norm"
        )
        self.build()

    @classmethod
    def for_encoder(cls, encoder, **kwargs):
        """The head that fits an encoder, with its activation and epsilon."""
        return cls(
            encoder.vocabulary_size,
            encoder.hidden_dim,
            activation=encoder.activation,
            layer_norm_epsilon=encoder.layer_norm_epsilon,
            **kwargs,
        )

    def build(self, states_shape=None):
        if self.built:
            return
        states_shape = (None, None, self.hidden_dim)
        self.transform.build(states_shape)
        self.norm.build(states_shape)
        self.bias = self.add_weight(
            name="bias", shape=(self.vocabulary_size,), initializer="zeros"
        )
        self.built = True

    def call(self, states, token_embeddings):
        x = ACTIVATIONS[self.activation](self.transform(states))
        table = ops.cast(token_embeddings, "float32")
        return ops.matmul(self.norm(x), ops.transpose(table)) + self.bias

    def compute_output_shape(self, states_shape, token_embeddings_shape=None):
        return (*states_shape[:-1], self.vocabulary_size)

    def tensors(self):
        """Hugging Face's name of each tensor -> variable."""
        return {
            "cls.predictions.transform.dense.weight": self.transform.kernel,
            "cls.predictions.transform.dense.bias": self.transform.bias,
            "cls.predictions.transform.LayerNorm.weight": self.norm.gamma,
            "cls.predictions.transform.LayerNorm.bias": self.norm.beta,
            "cls.predictions.bias": self.bias,
        }

    def get_config(self):
        config = super().get_config()
        config.update(
            vocabulary_size=self.vocabulary_size,
            hidden_dim=self.hidden_dim,
            activation=self.activation,
            layer_norm_epsilon=self.layer_norm_epsilon,
        )
        return config


def at_positions(states, positions):
    """The states at some positions of each row, or all of them.

    Args:
        states: tensor (batch, seq, hidden).
        positions: None, or int tensor (batch, k), each below seq.

    Returns:
        Tensor (batch, k, hidden), or (batch, seq, hidden) for None.
    """
    if positions is None:
        return states
    positions = ops.cast(positions, "int32")[..., None]
    return ops.take_along_axis(states, positions, axis=1)
