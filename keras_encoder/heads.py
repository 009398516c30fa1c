"""Task heads: an encoder with one more layer on top."""

import keras

from keras_encoder.encoder import _bert_initializer
from keras_encoder.layers.checks import check_positive, check_rate


@keras.saving.register_keras_serializable(package="keras_encoder")
class SequenceClassifier(keras.Model):
    """Logits of a whole text: `dense(dropout(pooled_output))`.

    Reads the first token of the last block only, so that block computes no
    other (`Encoder.encode`).

    Args:
        encoder: `Encoder`.
        num_classes: int. Classes, independent labels, or 1 for regression.
        dropout: float in [0, 1). Dropout on `pooled_output`.

    Call arguments:
        inputs: dict, as for `Encoder`.

    Returns:
        float32 tensor (batch, num_classes) of logits.
    """

    def __init__(self, encoder, num_classes, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_classes=num_classes)
        check_rate(dropout=dropout)
        self.encoder = encoder
        self.num_classes = num_classes
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, name="dropout")
        self.logits = _logits(num_classes, encoder.hidden_dim)
        self.built = True

    def build(self, input_shape=None):
        self.built = True

    def call(self, inputs, training=None):
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            first_token_only=True,
            training=training,
        )
        return self.head(states, training=training)

    def head(self, states, training=None):
        """Logits from the last block's states (batch, 1 or more, hidden)."""
        pooled = self.encoder.pooler(states)
        return self.logits(self.dropout_layer(pooled, training=training))

    def get_config(self):
        config = super().get_config()
        config.update(
            encoder=keras.saving.serialize_keras_object(self.encoder),
            num_classes=self.num_classes,
            dropout=self.dropout,
        )
        return config

    @classmethod
    def from_config(cls, config):
        encoder = keras.saving.deserialize_keras_object(config.pop("encoder"))
        return cls(encoder, **config)


@keras.saving.register_keras_serializable(package="keras_encoder")
class TokenTagger(keras.Model):
    """Logits of every token: `dense(dropout(sequence_output))`.

    Args:
        encoder: `Encoder`.
        num_classes: int. Number of tags.
        dropout: float in [0, 1). Dropout on `sequence_output`.

    Call arguments:
        inputs: dict, as for `Encoder`.

    Returns:
        float32 tensor (batch, seq, num_classes) of logits.
    """

    def __init__(self, encoder, num_classes, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_classes=num_classes)
        check_rate(dropout=dropout)
        self.encoder = encoder
        self.num_classes = num_classes
        self.dropout = dropout
        self.dropout_layer = keras.layers.Dropout(dropout, name="dropout")
        self.logits = _logits(num_classes, encoder.hidden_dim)
        self.built = True

    def build(self, input_shape=None):
        self.built = True

    def call(self, inputs, training=None):
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            training=training,
        )
        return self.head(states, training=training)

    def head(self, states, training=None):
        """Logits from the last block's states (batch, seq, hidden)."""
        return self.logits(self.dropout_layer(states, training=training))

    def get_config(self):
        config = super().get_config()
        config.update(
            encoder=keras.saving.serialize_keras_object(self.encoder),
            num_classes=self.num_classes,
            dropout=self.dropout,
        )
        return config

    @classmethod
    def from_config(cls, config):
        encoder = keras.saving.deserialize_keras_object(config.pop("encoder"))
        return cls(encoder, **config)


def _logits(num_classes, hidden_dim):
    """A built dense layer that stays in float32 under mixed precision."""
    dense = keras.layers.Dense(
        num_classes,
        kernel_initializer=_bert_initializer(),
        dtype="float32",
        name="logits",
    )
    dense.build((None, hidden_dim))
    return dense
