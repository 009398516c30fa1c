"""Where in a text the answer to a question starts and ends."""

import keras
from keras import ops

from keras_encoder.heads.logits import dense_logits
from keras_encoder.heads.parts import config_with_encoder, model_from_config

# No logit of a network is as low; finite, so that no loss becomes NaN.
_NEVER = -1e9


@keras.saving.register_keras_serializable(package="keras_encoder")
class Span(keras.Model):
    """Start and end logits of every token: `dense(sequence_output)`.

    Padding gets -1e9, so that it is never the start or the end and has no
    share in the softmax.

    Args:
        encoder: `Encoder`. Its pooler is frozen: nothing reads it here.

    Call arguments:
        inputs: dict, as for `Encoder`: question and text as a pair.

    Returns:
        A dict of `start_logits` and `end_logits`, each float32 (batch, seq).

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), 4.2
    """

    architecture = "BertForQuestionAnswering"
    reads_pooler = False

    def __init__(self, encoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        encoder.pooler.trainable = False  # it would get no gradient
        self.logits = dense_logits(2, encoder.hidden_dim)
        self.built = True

    def call(self, inputs, training=None):
        mask = inputs.get("padding_mask")
        states = self.encoder.encode(
            self.encoder.embed(inputs, training=training),
            padding_mask=mask,
            training=training,
        )
        logits = self.logits(states)  # (batch, seq, 2)
        if mask is not None:
            is_real = ops.not_equal(mask, 0)[..., None]
            logits = ops.where(is_real, logits, _NEVER)
        return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

    def compute_output_spec(self, inputs, training=None):
        shape = inputs["token_ids"].shape
        return {
            name: keras.KerasTensor(shape, dtype="float32")
            for name in ("start_logits", "end_logits")
        }

    def tensors(self):
        """Hugging Face's name of each of the head's tensors -> variable."""
        return {
            "qa_outputs.weight": self.logits.kernel,
            "qa_outputs.bias": self.logits.bias,
        }

    def get_config(self):
        return config_with_encoder(self, super().get_config())

    from_config = classmethod(model_from_config)
