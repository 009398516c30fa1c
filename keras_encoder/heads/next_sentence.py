"""Whether the second text of a pair follows the first."""

import keras

from keras_encoder.heads.logits import dense_logits
from keras_encoder.heads.parts import config_with_encoder, model_from_config


@keras.saving.register_keras_serializable(package="keras_encoder")
class NextSentence(keras.Model):
    """Two logits of a pair of texts: `dense(pooled_output)`.

    Class 0 says that the second text follows the first, class 1 that it is a
    random one, as in Hugging Face's models.

    Args:
        encoder: `Encoder`.

    Call arguments:
        inputs: dict, as for `Encoder`; `segment_ids` are 1 in the second
            text.

    Returns:
        float32 tensor (batch, 2) of logits.

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), 3.1
    """

    architecture = "BertForNextSentencePrediction"
    # These hold all of its tensors, too.
    also_in = ("BertForPreTraining", "Pretraining")
    reads_pooler = True

    def __init__(self, encoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.logits = dense_logits(2, encoder.hidden_dim)
        self.built = True

    def call(self, inputs, training=None):
        first = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=inputs.get("padding_mask"),
            first_token_only=True,
            training=training,
        )
        return self.logits(self.encoder.pooler(first))

    def compute_output_spec(self, inputs, training=None):
        batch = inputs["token_ids"].shape[0]
        return keras.KerasTensor((batch, 2), dtype="float32")

    def tensors(self):
        """Hugging Face's name of each of the head's tensors -> variable."""
        return {
            "cls.seq_relationship.weight": self.logits.kernel,
            "cls.seq_relationship.bias": self.logits.bias,
        }

    def get_config(self):
        return config_with_encoder(self, super().get_config())

    from_config = classmethod(model_from_config)
