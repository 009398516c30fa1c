"""Token, segment and position embeddings."""

import math

import keras
from keras import ops

from keras_encoder.layers.checks import check_positive, check_rate
from keras_encoder.layers.dropout import Dropout
from keras_encoder.layers.norms import make_norm
from keras_encoder.layers.positions import POSITIONS, check_positions


@keras.saving.register_keras_serializable(package="keras_encoder")
class Embeddings(keras.layers.Layer):
    """`dropout(norm(token + segment + position))`, as in BERT.

    Positions that act in the attention are kept here too, where they are made
    once for all blocks; `attention_arguments` hands them on.

    Args:
        vocabulary_size: int. Rows of the token table.
        hidden_dim: int. Width of the embeddings.
        max_sequence_length: int. Rows of the table of learned positions.
        num_segments: int. Rows of the segment table.
        dropout: float in [0, 1). Dropout on the result.
        layer_norm_epsilon: float. Added to the variance.
        embeddings_initializer: initializer of the tables.
        positions: a name in `layers.positions.POSITIONS`, or None: the order
            of the tokens is not seen.
        num_heads: int. Heads of the attention, for positions that act there.
        norm: `"layer_norm"` or `"rms_norm"`.

    Call arguments:
        token_ids: int tensor (batch, seq).
        segment_ids: None (all zeros) or int tensor (batch, seq).

    Returns:
        Tensor (batch, seq, hidden).

    Raises:
        ValueError: if positions are learned and seq is larger than
            `max_sequence_length`.
    """

    def __init__(
        self,
        vocabulary_size,
        hidden_dim,
        max_sequence_length=512,
        num_segments=2,
        dropout=0.0,
        layer_norm_epsilon=1e-12,
        embeddings_initializer="uniform",
        positions="learned",
        num_heads=1,
        norm="layer_norm",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(
            vocabulary_size=vocabulary_size,
            hidden_dim=hidden_dim,
            max_sequence_length=max_sequence_length,
            num_segments=num_segments,
            num_heads=num_heads,
        )
        check_rate(dropout=dropout)
        check_positions(positions)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.dropout = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.positions = positions
        self.num_heads = num_heads
        self.norm = norm
        self._make_layers()

    def _make_layers(self):
        def table(rows, name):
            return keras.layers.Embedding(
                rows,
                self.hidden_dim,
                embeddings_initializer=self.embeddings_initializer.clone(),
                dtype=self.dtype_policy,
                name=name,
            )

        self.token_embedding = table(self.vocabulary_size, "token_embedding")
        self.segment_embedding = table(self.num_segments, "segment_embedding")
        self.position_layer = None
        if self.positions is not None:
            self.position_layer = POSITIONS[self.positions].for_encoder(
                self.max_sequence_length,
                self.num_heads,
                self.embeddings_initializer.clone(),
                dtype=self.dtype_policy,
                name="positions",
            )
        self.norm_layer = make_norm(
            self.norm,
            self.layer_norm_epsilon,
            dtype=self.dtype_policy,
            name="norm",
        )
        self.dropout_layer = Dropout(
            self.dropout, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, token_ids_shape):
        embedded = (None, None, self.hidden_dim)
        self.token_embedding.build(token_ids_shape)
        self.segment_embedding.build(token_ids_shape)
        if self.position_layer is not None:
            self.position_layer.build(embedded)
        self.norm_layer.build(embedded)

    def call(self, token_ids, segment_ids=None, training=None):
        if segment_ids is None:
            segment_ids = ops.zeros((1, 1), dtype="int32")
        x = self.token_embedding(token_ids) + self.segment_embedding(
            segment_ids
        )
        if self.position_layer is not None:
            x = self.position_layer(x)
        return self.dropout_layer(self.norm_layer(x), training=training)

    @property
    def longest_input(self):
        """The most tokens that there are positions for, or `math.inf`."""
        if self.position_layer is None:
            return math.inf
        return self.position_layer.longest_input

    def attention_arguments(self, length):
        """Arguments of every `SelfAttention` above: what positions do there.

        Args:
            length: int, or scalar int tensor: seq.
        """
        if self.position_layer is None:
            return {}
        return self.position_layer.attention_arguments(length)

    def compute_output_shape(self, token_ids_shape):
        return (*token_ids_shape, self.hidden_dim)

    def get_config(self):
        config = super().get_config()
        config.update(
            vocabulary_size=self.vocabulary_size,
            hidden_dim=self.hidden_dim,
            max_sequence_length=self.max_sequence_length,
            num_segments=self.num_segments,
            dropout=self.dropout,
            layer_norm_epsilon=self.layer_norm_epsilon,
            embeddings_initializer=keras.initializers.serialize(
                self.embeddings_initializer
            ),
            positions=self.positions,
            num_heads=self.num_heads,
            norm=self.norm,
        )
        return config
