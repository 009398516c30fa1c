"""One Transformer encoder block."""

import keras

from keras_encoder.layers.attention import SelfAttention
from keras_encoder.layers.checks import check_positive, check_rate
from keras_encoder.layers.dropout import Dropout
from keras_encoder.layers.feed_forward import FeedForward
from keras_encoder.layers.norms import make_norm


@keras.saving.register_keras_serializable(package="keras_encoder")
class EncoderBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each with a residual and a norm.

    Post-norm (BERT, [Devlin et al., 2018](https://arxiv.org/abs/1810.04805)):
    `x = LN(x + attention(x)); x = LN(x + feed_forward(x))`. Pre-norm
    ([Xiong et al., 2020](https://arxiv.org/abs/2002.04745)):
    `x = x + attention(LN(x)); x = x + feed_forward(LN(x))`; the stack then
    needs a final norm, which `Encoder` adds.

    Args:
        num_heads: int. Must divide the width of the input.
        intermediate_dim: int. Width inside the feed-forward network.
        dropout: float in [0, 1). Dropout on the output of both sub-layers.
        attention_dropout: float in [0, 1). Dropout on the probabilities.
        activation: `"gelu"` (exact), `"gelu_tanh"`, `"relu"` or `"geglu"`.
        layer_norm_epsilon: float. Added to the variance.
        norm_first: bool. Pre-norm if True, else post-norm.
        kernel_initializer: initializer of all kernels.
        norm: `"layer_norm"` or `"rms_norm"`, the LN of the formulas.

    Call arguments:
        hidden_states: tensor (batch, seq, hidden).
        padding_mask, position_bias, rotate: as in `SelfAttention`.
        first_token_only, return_attention_scores: as in `SelfAttention`.

    Returns:
        Tensor (batch, queries, hidden), where queries is 1 with
        `first_token_only` and seq otherwise; with `return_attention_scores` a
        pair of it and the probabilities (batch, heads, queries, seq).
    """

    def __init__(
        self,
        num_heads,
        intermediate_dim,
        dropout=0.0,
        attention_dropout=0.0,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        norm_first=False,
        kernel_initializer="glorot_uniform",
        norm="layer_norm",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads, intermediate_dim=intermediate_dim)
        check_rate(dropout=dropout, attention_dropout=attention_dropout)
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.norm_first = norm_first
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.norm = norm
        self.attention = SelfAttention(
            num_heads,
            dropout=attention_dropout,
            kernel_initializer=self.kernel_initializer,
            dtype=self.dtype_policy,
            name="attention",
        )
        self.attention_norm = make_norm(
            norm,
            layer_norm_epsilon,
            dtype=self.dtype_policy,
            name="attention_norm",
        )
        self.feed_forward = FeedForward(
            intermediate_dim,
            activation=activation,
            kernel_initializer=self.kernel_initializer,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self.feed_forward_norm = make_norm(
            norm,
            layer_norm_epsilon,
            dtype=self.dtype_policy,
            name="feed_forward_norm",
        )
        self.dropout_layer = Dropout(
            dropout, dtype=self.dtype_policy, name="hidden_dropout"
        )

    def build(self, hidden_states_shape):
        self.attention.build(hidden_states_shape)
        self.attention_norm.build(hidden_states_shape)
        self.feed_forward.build(hidden_states_shape)
        self.feed_forward_norm.build(hidden_states_shape)

    def call(
        self,
        hidden_states,
        padding_mask=None,
        position_bias=None,
        rotate=None,
        first_token_only=False,
        return_attention_scores=False,
        training=None,
    ):
        attended = self.attention(
            self.attention_norm(hidden_states)
            if self.norm_first
            else hidden_states,
            padding_mask=padding_mask,
            position_bias=position_bias,
            rotate=rotate,
            first_token_only=first_token_only,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        if return_attention_scores:
            attended, probabilities = attended
        if first_token_only:
            hidden_states = hidden_states[:, :1]

        x = hidden_states + self.dropout_layer(attended, training=training)
        if not self.norm_first:
            x = self.attention_norm(x)
        wide = self.feed_forward_norm(x) if self.norm_first else x
        wide = self.feed_forward(wide)
        x = x + self.dropout_layer(wide, training=training)
        if not self.norm_first:
            x = self.feed_forward_norm(x)
        return (x, probabilities) if return_attention_scores else x

    def compute_output_shape(self, hidden_states_shape):
        return tuple(hidden_states_shape)

    def compute_output_spec(
        self,
        hidden_states,
        first_token_only=False,
        return_attention_scores=False,
        **kwargs,
    ):
        batch, length, hidden_dim = hidden_states.shape
        queries = 1 if first_token_only else length
        output = keras.KerasTensor(
            (batch, queries, hidden_dim), dtype=self.compute_dtype
        )
        if not return_attention_scores:
            return output
        shape = (batch, self.num_heads, queries, length)
        return output, keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        config = super().get_config()
        config.update(
            num_heads=self.num_heads,
            intermediate_dim=self.intermediate_dim,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            activation=self.activation,
            layer_norm_epsilon=self.layer_norm_epsilon,
            norm_first=self.norm_first,
            kernel_initializer=keras.initializers.serialize(
                self.kernel_initializer
            ),
            norm=self.norm,
        )
        return config
