"""A class, labels or a number for a whole text."""

import keras

from keras_encoder.heads.logits import dense_logits
from keras_encoder.heads.parts import config_with_encoder, model_from_config
from keras_encoder.layers.checks import check_positive, check_rate
from keras_encoder.layers.dropout import Dropout


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

    architecture = "BertForSequenceClassification"
    labels_tensor = "classifier.bias"  # one number for each label
    reads_pooler = True
    reads_first_token = True

    def __init__(self, encoder, num_classes, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_classes=num_classes)
        check_rate(dropout=dropout)
        self.encoder = encoder
        self.num_classes = num_classes
        self.dropout = dropout
        self.dropout_layer = Dropout(dropout, name="dropout")
        self.logits = dense_logits(num_classes, encoder.hidden_dim)
        self.built = True

    def call(self, inputs, training=None):
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            first_token_only=True,
            training=training,
        )
        return self.head(states, training=training)

    def compute_output_spec(self, inputs, training=None):
        batch = inputs["token_ids"].shape[0]
        return keras.KerasTensor((batch, self.num_classes), dtype="float32")

    def head(self, states, training=None):
        """Logits from the last block's states (batch, 1 or more, hidden)."""
        features = self.features(states)
        return self.logits(self.dropout_layer(features, training=training))

    def features(self, states):
        """What the last layer reads, (batch, hidden): the pooled token."""
        return self.encoder.pooler(states)

    def tensors(self):
        """Hugging Face's name of each of the head's tensors -> variable."""
        return {
            "classifier.weight": self.logits.kernel,
            "classifier.bias": self.logits.bias,
        }

    def get_config(self):
        config = config_with_encoder(self, super().get_config())
        config.update(num_classes=self.num_classes, dropout=self.dropout)
        return config

    from_config = classmethod(model_from_config)
