"""Multi-head scaled dot-product self-attention."""

import math

import keras
from keras import ops

from keras_encoder.layers.checks import check_heads, check_positive, check_rate
from keras_encoder.layers.dropout import Dropout

# Added to the score of a masked key. Far below any real score, and finite:
# where every key is masked the softmax is uniform instead of NaN.
MASKED = -1e9
# Only PyTorch has such a kernel on every device and for every dtype: what Keras
# runs on TensorFlow is slower than ours, and JAX's has no gradient in float16
# on a CPU.
FUSED = keras.backend.backend() == "torch"


def attention_probabilities(query, key, bias=None):
    """Softmax over keys of `query . key / sqrt(head_dim) + bias`.

    Computed in float32 whatever the dtype of `query`, since half precision
    loses small probabilities.

    Args:
        query: tensor (batch, heads, queries, head_dim).
        key: tensor (batch, heads, keys, head_dim).
        bias: None or a float32 tensor that broadcasts to (batch, heads,
            queries, keys).

    Returns:
        float32 tensor (batch, heads, queries, keys); each row sums to 1.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), eq. 1.
    """
    query = query * (1.0 / math.sqrt(query.shape[-1]))
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
    return softmax_over_keys(scores, bias)


def softmax_over_keys(scores, bias=None):
    """Softmax of `scores + bias` over the last axis, in float32."""
    scores = ops.cast(scores, "float32")
    if bias is not None:
        scores = scores + bias
    if scores.shape[-1] == 1:
        return ops.exp(scores - scores)  # 1; Keras warns of such a softmax
    return ops.softmax(scores, axis=-1)


def fused_attention(query, key, value, bias=None):
    """The same as softmax and weighted sum, by the kernel of the backend.

    Args:
        query, key, value: tensors (batch, heads, seq, head_dim).
        bias: as in `attention_probabilities`.

    Returns:
        Tensor (batch, queries, heads, head_dim).

    Reference:
        [Dao et al., 2022](https://arxiv.org/abs/2205.14135)
    """
    dtype = keras.backend.standardize_dtype(query.dtype)
    if bias is not None and dtype == "float16":
        # The kernel takes it in that dtype, which ends at 65504.
        bias = ops.maximum(bias, -3e4)
    query, key, value = (
        ops.transpose(each, (0, 2, 1, 3)) for each in (query, key, value)
    )
    return ops.dot_product_attention(query, key, value, bias=bias)


def padding_bias(padding_mask):
    """Score bias of a padding mask: 0 at real keys, -1e9 at padding.

    Args:
        padding_mask: None or a tensor (batch, keys), nonzero = real token.

    Returns:
        None, or a float32 tensor (batch, 1, 1, keys).
    """
    if padding_mask is None:
        return None
    is_padding = ops.cast(ops.equal(padding_mask, 0), "float32")
    return MASKED * is_padding[:, None, None, :]


@keras.saving.register_keras_serializable(package="keras_encoder")
class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention as in BERT.

    `concat(head_1, ..., head_h) W_o` with `head_i = softmax(Q_i K_i^T /
    sqrt(head_dim)) V_i`. Query, key, value and output projections are four
    `Dense` layers, as checkpoints store them; the products with the same
    input are run as one.

    Args:
        num_heads: int. Must divide the width of the input.
        dropout: float in [0, 1). Dropout on the attention probabilities.
        kernel_initializer: initializer of the four projections' kernels.

    Call arguments:
        hidden_states: tensor (batch, seq, hidden).
        padding_mask: None or tensor (batch, seq), nonzero = real token.
        position_bias: None or float tensor that broadcasts to (batch,
            heads, seq, seq), added to the scores (relative positions).
        rotate: None or a function of a (batch, heads, seq, head_dim) tensor
            that is applied to queries and keys (rotary positions).
        first_token_only: bool. Compute the output for the first position
            alone; it still attends to all positions.
        return_attention_scores: bool. Also return the probabilities.

    Returns:
        Tensor (batch, queries, hidden), where queries is 1 with
        `first_token_only` and seq otherwise. With `return_attention_scores`
        a pair of it and the probabilities (batch, heads, queries, seq),
        before dropout.

    Raises:
        ValueError: if `num_heads` does not divide the input's width.
    """

    def __init__(
        self,
        num_heads,
        dropout=0.0,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads)
        check_rate(dropout=dropout)
        self.num_heads = num_heads
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, hidden_states_shape):
        hidden_dim = hidden_states_shape[-1]
        check_heads(hidden_dim, self.num_heads)
        for name in ("query", "key", "value", "output"):
            dense = keras.layers.Dense(
                hidden_dim,
                # A fresh copy: a shared one would give equal kernels.
                kernel_initializer=self.kernel_initializer.clone(),
                dtype=self.dtype_policy,
                name=name,
            )
            dense.build((None, None, hidden_dim))
            setattr(self, f"{name}_dense", dense)
        self.dropout_layer = Dropout(
            self.dropout, dtype=self.dtype_policy, name="attention_dropout"
        )

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
        bias = padding_bias(padding_mask)
        if position_bias is not None:
            if first_token_only:
                position_bias = position_bias[..., :1, :]
            # Keras casts what a layer is given to its compute dtype.
            position_bias = ops.cast(position_bias, "float32")
            bias = position_bias if bias is None else bias + position_bias

        if first_token_only and rotate is None:
            context, probabilities = self._attend_from_first_token(
                hidden_states, bias, training
            )
        else:
            query, key, value = self._project(hidden_states, first_token_only)
            if rotate is not None:
                query, key = rotate(query), rotate(key)
            context, probabilities = self._attend(
                query, key, value, bias, training, return_attention_scores
            )
        # One axis of positions, as in `FeedForward`.
        output = self.output_dense(ops.reshape(context, (-1, self._hidden_dim)))
        output = ops.reshape(
            output, (*ops.shape(context)[:2], self._hidden_dim)
        )
        if return_attention_scores:
            return output, probabilities
        return output

    @property
    def _hidden_dim(self):
        return self.output_dense.units

    def _attend(self, query, key, value, bias, training, return_scores):
        """Returns the context, and the probabilities where they are known.

        The context is (batch, queries, heads, head_dim).
        """
        drops = training and self.dropout > 0
        if FUSED and not (drops or return_scores):
            return fused_attention(query, key, value, bias), None
        probabilities = attention_probabilities(query, key, bias)
        weights = self._drop(probabilities, training)
        context = ops.matmul(weights, value)
        return ops.transpose(context, (0, 2, 1, 3)), probabilities

    def _attend_from_first_token(self, hidden_states, bias, training):
        """The same for the first position, without keys and values.

        Where one query reads them, `q . (W_k x + b_k)` is `(W_k^T q) . x +
        q . b_k`, and a weighted sum of values is `W_v` times that of the
        inputs: about head_dim times fewer operations.
        """
        heads = self.num_heads
        head_dim = self._hidden_dim // heads
        batch = ops.shape(hidden_states)[0]
        query = self.query_dense(hidden_states[:, 0])
        query = query * (1.0 / math.sqrt(head_dim))
        query = ops.reshape(query, (batch, 1, heads, head_dim))

        kernel, bias_k = self._by_head(self.key_dense)
        toward = ops.einsum("bqnd,hnd->bnqh", query, kernel)
        scores = ops.einsum("bnqh,bsh->bnqs", toward, hidden_states)
        scores = scores + ops.einsum("bqnd,nd->bnq", query, bias_k)[..., None]
        probabilities = softmax_over_keys(scores, bias)

        weights = self._drop(probabilities, training)
        mixed = ops.einsum("bnqs,bsh->bnqh", weights, hidden_states)
        kernel, bias_v = self._by_head(self.value_dense)
        context = ops.einsum("bnqh,hnd->bqnd", mixed, kernel)
        # With dropout the weights do not add up to one.
        total = ops.transpose(ops.sum(weights, axis=-1), (0, 2, 1))
        return context + total[..., None] * bias_v, probabilities

    def _drop(self, probabilities, training):
        weights = ops.cast(probabilities, self.compute_dtype)
        return self.dropout_layer(weights, training=training)

    def _by_head(self, dense):
        """Kernel (hidden, heads, head_dim) and bias (heads, head_dim)."""
        shape = (self.num_heads, self._hidden_dim // self.num_heads)
        kernel = ops.reshape(dense.kernel, (self._hidden_dim, *shape))
        return kernel, ops.reshape(dense.bias, shape)

    def _project(self, hidden_states, first_token_only):
        """Returns query, key and value, each (batch, heads, seq, head_dim)."""
        denses = [self.query_dense, self.key_dense, self.value_dense]
        if not first_token_only:
            return self._project_with(denses, hidden_states)
        first = hidden_states[:, :1]
        return (
            *self._project_with(denses[:1], first),
            *self._project_with(denses[1:], hidden_states),
        )

    def _project_with(self, denses, hidden_states):
        """Applies several projections to one input as one matrix product."""
        kernel = ops.concatenate([d.kernel for d in denses], axis=-1)
        bias = ops.concatenate([d.bias for d in denses], axis=-1)
        batch, length = ops.shape(hidden_states)[:2]
        positions = ops.reshape(hidden_states, (-1, self._hidden_dim))
        projected = ops.add(ops.matmul(positions, kernel), bias)
        head_dim = self._hidden_dim // self.num_heads
        shape = (batch, length, len(denses), self.num_heads, head_dim)
        projected = ops.transpose(
            ops.reshape(projected, shape), (2, 0, 3, 1, 4)
        )
        # Not by index: the gradient of a slice fills a tensor of zeros.
        return ops.unstack(projected, len(denses), axis=0)

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
            dropout=self.dropout,
            kernel_initializer=keras.initializers.serialize(
                self.kernel_initializer
            ),
        )
        return config
