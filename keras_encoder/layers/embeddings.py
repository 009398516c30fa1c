"""Token, segment and position embeddings."""

import keras
from keras import ops

from keras_encoder.layers.checks import (
    check_epsilon,
    check_positive,
    check_rate,
)
from keras_encoder.layers.positions.learned import LearnedPositions


@keras.saving.register_keras_serializable(package="keras_encoder")
class Embeddings(keras.layers.Layer):
    """`dropout(LN(token + segment + position))`, as in BERT.

    Args:
        vocabulary_size: int. Rows of the token table.
        hidden_dim: int. Width of the embeddings.
        max_sequence_length: int. Rows of the position table.
        num_segments: int. Rows of the segment table.
        dropout: float in [0, 1). Dropout on the result.
        layer_norm_epsilon: float. Added to the variance.
        embeddings_initializer: initializer of the three tables.

    Call arguments:
        token_ids: int tensor (batch, seq).
        segment_ids: None (all zeros) or int tensor (batch, seq).

    Returns:
        Tensor (batch, seq, hidden).

    Raises:
        ValueError: if seq is larger than `max_sequence_length`.
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
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(
            vocabulary_size=vocabulary_size,
            hidden_dim=hidden_dim,
            num_segments=num_segments,
        )
        check_rate(dropout=dropout)
        check_epsilon(layer_norm_epsilon=layer_norm_epsilon)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.dropout = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.token_embedding = keras.layers.Embedding(
            vocabulary_size,
            hidden_dim,
            embeddings_initializer=self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name="token_embedding",
        )
        self.segment_embedding = keras.layers.Embedding(
            num_segments,
            hidden_dim,
            embeddings_initializer=self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name="segment_embedding",
        )
        self.positions = LearnedPositions(
            max_sequence_length,
            embeddings_initializer=self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name="positions",
        )
        self.norm = keras.layers.LayerNormalization(
            epsilon=layer_norm_epsilon, dtype=self.dtype_policy, name="norm"
        )
        self.dropout_layer = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def build(self, token_ids_shape):
        embedded = (None, None, self.hidden_dim)
        self.token_embedding.build(token_ids_shape)
        self.segment_embedding.build(token_ids_shape)
        self.positions.build(embedded)
        self.norm.build(embedded)

    def call(self, token_ids, segment_ids=None, training=None):
        if segment_ids is None:
            segment_ids = ops.zeros((1, 1), dtype="int32")
        x = self.token_embedding(token_ids) + self.segment_embedding(
            segment_ids
        )
        x = self.norm(self.positions(x))
        return self.dropout_layer(x, training=training)

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
        )
        return config
