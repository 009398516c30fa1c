"""A tag for every token."""

import keras

from keras_encoder.heads.logits import dense_logits
from keras_encoder.heads.parts import config_with_encoder, model_from_config
from keras_encoder.layers.checks import check_positive, check_rate
from keras_encoder.layers.dropout import Dropout
from keras_encoder.losses import CrfLoss


@keras.saving.register_keras_serializable(package="keras_encoder")
class TokenTagger(keras.Model):
    """Logits of every token: `dense(dropout(sequence_output))`.

    Args:
        encoder: `Encoder`. Its pooler is frozen: nothing reads it here.
        num_classes: int. Number of tags.
        dropout: float in [0, 1). Dropout on `sequence_output`.
        crf: None, or a `CRF` of `num_classes` tags that the logits are trained
            with (`CrfLoss`) and decoded by: `tagger.crf(logits, counted)`.

    Call arguments:
        inputs: dict, as for `Encoder`.

    Returns:
        float32 tensor (batch, seq, num_classes) of logits.
    """

    architecture = "BertForTokenClassification"
    labels_tensor = "classifier.bias"  # one number for each label
    reads_pooler = False
    reads_first_token = False

    def __init__(self, encoder, num_classes, dropout=0.1, crf=None, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_classes=num_classes)
        check_rate(dropout=dropout)
        self.encoder = encoder
        encoder.pooler.trainable = False  # it would get no gradient
        self.num_classes = num_classes
        self.dropout = dropout
        self.dropout_layer = Dropout(dropout, name="dropout")
        self.logits = dense_logits(num_classes, encoder.hidden_dim)
        self.crf = crf
        if crf is not None:
            _build(crf, num_classes)
        self.built = True

    def call(self, inputs, training=None):
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            training=training,
        )
        return self.head(states, training=training)

    def compute_output_spec(self, inputs, training=None):
        shape = (*inputs["token_ids"].shape, self.num_classes)
        return keras.KerasTensor(shape, dtype="float32")

    def head(self, states, training=None):
        """Logits from the last block's states (batch, seq, hidden)."""
        features = self.features(states)
        return self.logits(self.dropout_layer(features, training=training))

    def features(self, states):
        """What the last layer reads, (batch, seq, hidden): the states."""
        return states

    def tensors(self):
        """Hugging Face's name of each of the head's tensors -> variable.

        Those of a CRF are called as in pytorch-crf; transformers has none.
        """
        tensors = {
            "classifier.weight": self.logits.kernel,
            "classifier.bias": self.logits.bias,
        }
        if self.crf is not None:
            tensors.update(
                {
                    "crf.transitions": self.crf.transitions,
                    "crf.start_transitions": self.crf.start,
                    "crf.end_transitions": self.crf.end,
                }
            )
        return tensors

    def get_config(self):
        config = config_with_encoder(self, super().get_config())
        config.update(
            num_classes=self.num_classes,
            dropout=self.dropout,
            crf=self.crf and keras.saving.serialize_keras_object(self.crf),
        )
        return config

    def compile_from_config(self, config):
        super().compile_from_config(config)
        if isinstance(self.loss, CrfLoss):
            self.loss.crf = self.crf  # else it would learn one of its own

    @classmethod
    def from_config(cls, config):
        crf = keras.saving.deserialize_keras_object(config.get("crf"))
        return model_from_config(cls, {**config, "crf": crf})


def _build(crf, num_classes):
    if crf.num_tags != num_classes:
        raise ValueError(
            f"`crf` must have {num_classes} tags, as many as `num_classes`. "
            f"Received: num_tags={crf.num_tags}"
        )
    if not crf.built:
        crf.build((None, None, num_classes))
