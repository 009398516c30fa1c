"""The token that stood at each masked position."""

import keras

from keras_encoder.heads.parts import config_with_encoder, model_from_config
from keras_encoder.heads.token_predictions import (
    TokenPredictions,
    at_positions,
)


@keras.saving.register_keras_serializable(package="keras_encoder")
class MaskedLM(keras.Model):
    """Logits of every token of the vocabulary, at the masked positions.

    Args:
        encoder: `Encoder`. Its pooler is frozen: nothing reads it here.

    Call arguments:
        inputs: dict, as for `Encoder`, and optionally `masked_positions` int
            (batch, k): only these positions are decoded, which is a seventh
            of the work where a seventh is masked. Each must be below seq; a
            row with fewer repeats any.

    Returns:
        float32 tensor (batch, k, vocabulary) of logits; (batch, seq,
        vocabulary) without `masked_positions`.

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), 3.1
    """

    architecture = "BertForMaskedLM"
    # These hold all of its tensors, too.
    also_in = ("BertForPreTraining", "Pretraining", "DistilBertForMaskedLM")
    reads_pooler = False

    def __init__(self, encoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        encoder.pooler.trainable = False  # it would get no gradient
        self.predictions = TokenPredictions.for_encoder(
            encoder, name="predictions"
        )
        self.built = True

    def call(self, inputs, training=None):
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            training=training,
        )
        return self.predictions(
            at_positions(states, inputs.get("masked_positions")),
            self.encoder.embeddings.token_embedding.embeddings,
        )

    def compute_output_spec(self, inputs, training=None):
        shape = inputs.get("masked_positions", inputs["token_ids"]).shape
        return keras.KerasTensor(
            (*shape, self.encoder.vocabulary_size), dtype="float32"
        )

    def tensors(self):
        """Hugging Face's name of each of the head's tensors -> variable."""
        return self.predictions.tensors()

    def get_config(self):
        return config_with_encoder(self, super().get_config())

    from_config = classmethod(model_from_config)
