"""Learned absolute positions, as in BERT."""

import keras

from keras_encoder.layers.checks import check_positive


@keras.saving.register_keras_serializable(package="keras_encoder")
class LearnedPositions(keras.layers.Layer):
    """Adds a trained vector to the embedding at each position.

    Args:
        max_sequence_length: int. Rows of the table, so the longest input.
        embeddings_initializer: initializer of the table.

    Call arguments:
        embeddings: tensor (batch, seq, hidden).

    Returns:
        Tensor (batch, seq, hidden).

    Raises:
        ValueError: if seq is larger than `max_sequence_length`.
    """

    def __init__(
        self, max_sequence_length, embeddings_initializer="uniform", **kwargs
    ):
        super().__init__(**kwargs)
        check_positive(max_sequence_length=max_sequence_length)
        self.max_sequence_length = max_sequence_length
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )

    @classmethod
    def for_encoder(
        cls, max_sequence_length, num_heads, embeddings_initializer, **kwargs
    ):
        return cls(max_sequence_length, embeddings_initializer, **kwargs)

    @property
    def longest_input(self):
        return self.max_sequence_length

    def build(self, embeddings_shape):
        self.position_embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_sequence_length, embeddings_shape[-1]),
            initializer=self.embeddings_initializer,
        )

    def call(self, embeddings):
        length = embeddings.shape[1]
        if length is None:
            length = keras.ops.shape(embeddings)[1]
        elif length > self.max_sequence_length:
            raise ValueError(
                "The input is longer than the table of learned positions: "
                f"expected at most max_sequence_length="
                f"{self.max_sequence_length} tokens. Received: {length}. "
                "Truncate the input or read it in windows."
            )
        return embeddings + self.position_embeddings[:length]

    def attention_arguments(self, length):
        return {}

    def compute_output_shape(self, embeddings_shape):
        return tuple(embeddings_shape)

    def get_config(self):
        config = super().get_config()
        config.update(
            max_sequence_length=self.max_sequence_length,
            embeddings_initializer=keras.initializers.serialize(
                self.embeddings_initializer
            ),
        )
        return config
