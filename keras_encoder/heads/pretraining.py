"""Both of BERT's pretraining tasks at once."""

import keras

from keras_encoder.heads.logits import dense_logits
from keras_encoder.heads.parts import config_with_encoder, model_from_config
from keras_encoder.heads.token_predictions import (
    TokenPredictions,
    at_positions,
)


@keras.saving.register_keras_serializable(package="keras_encoder")
class Pretraining(keras.Model):
    """`MaskedLM` and `NextSentence` on one pass of the encoder.

    Args:
        encoder: `Encoder`.

    Call arguments:
        inputs: dict, as for `Encoder`, and optionally `masked_positions` int
            (batch, k), as for `MaskedLM`.

    Returns:
        A dict of float32 logits:

        - `masked_lm`: (batch, k, vocabulary), or (batch, seq, vocabulary)
          without `masked_positions`.
        - `next_sentence`: (batch, 2); class 0 is "follows".

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), 3.1
    """

    architecture = "BertForPreTraining"
    reads_pooler = True

    def __init__(self, encoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.predictions = TokenPredictions.for_encoder(
            encoder, name="predictions"
        )
        self.next_sentence = dense_logits(2, encoder.hidden_dim)
        self.built = True

    def call(self, inputs, training=None):
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            training=training,
        )
        return {
            "masked_lm": self.predictions(
                at_positions(states, inputs.get("masked_positions")),
                self.encoder.embeddings.token_embedding.embeddings,
            ),
            "next_sentence": self.next_sentence(self.encoder.pooler(states)),
        }

    def compute_output_spec(self, inputs, training=None):
        shape = inputs.get("masked_positions", inputs["token_ids"]).shape
        words = (*shape, self.encoder.vocabulary_size)
        return {
            "masked_lm": keras.KerasTensor(words, dtype="float32"),
            "next_sentence": keras.KerasTensor((shape[0], 2), dtype="float32"),
        }

    def tensors(self):
        """Hugging Face's name of each of the head's tensors -> variable."""
        return {
            **self.predictions.tensors(),
            "cls.seq_relationship.weight": self.next_sentence.kernel,
            "cls.seq_relationship.bias": self.next_sentence.bias,
        }

    def get_config(self):
        return config_with_encoder(self, super().get_config())

    from_config = classmethod(model_from_config)
