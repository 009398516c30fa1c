"""Losses of class ids, for texts, for words and for sequences of words."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_encoder")
class SmoothCrossentropy(keras.losses.Loss):
    """Mean cross-entropy over what has a weight.

    `-(1 - p)^focal * log p` for the right class, with label smoothing: the
    target is `1 - s` on the right class plus `s / classes` on every class.
    The mean is over the weights, so padding and uncounted words change
    nothing, and it is 0, not NaN, where nothing counts. With
    `reduction="sum"` it is the sum of the weighted losses.

    Args:
        label_smoothing: float in [0, 1).
        focal: float of 0 or more, the gamma of the focal loss; 0 is plain
            cross-entropy.

    Call arguments:
        y_true: int tensor (batch, ...) of class ids.
        y_pred: float tensor (batch, ..., classes) of logits.
        sample_weight: float tensor (batch, ...).

    Reference:
        [Szegedy et al., 2015](https://arxiv.org/abs/1512.00567), 7;
        [Lin et al., 2017](https://arxiv.org/abs/1708.02002)
    """

    def __init__(self, label_smoothing=0.0, focal=0.0, **kwargs):
        super().__init__(**{"reduction": "mean_with_sample_weight", **kwargs})
        self.label_smoothing = label_smoothing
        self.focal = focal

    def call(self, y_true, y_pred):
        logits = ops.cast(y_pred, "float32")
        log_probs = ops.log_softmax(logits, axis=-1)
        ids = ops.cast(y_true, "int32")
        right = ops.take_along_axis(log_probs, ids[..., None], axis=-1)[..., 0]
        loss = -right
        if self.label_smoothing:
            smooth = -ops.mean(log_probs, axis=-1)
            loss = (1 - self.label_smoothing) * loss
            loss = loss + self.label_smoothing * smooth
        if self.focal:
            # Below a gamma of 1 the power has no finite slope at 0.
            wrong = ops.maximum(-ops.expm1(right), 1e-7)
            loss = loss * ops.power(wrong, self.focal)
        return loss

    def get_config(self):
        config = super().get_config()
        config.update(label_smoothing=self.label_smoothing, focal=self.focal)
        return config


@keras.saving.register_keras_serializable(package="keras_encoder")
class CrfLoss(keras.losses.Loss):
    """Minus the log-probability of the tags of each row, by a CRF.

    Summed over the batch and divided by the positions that count: a mean over
    words, as of `SmoothCrossentropy`, so that padding changes nothing. It is
    0, not NaN, where nothing counts. With `reduction="sum"` it is this mean
    times the sum of the weights.

    Args:
        crf: built `CRF`. It learns only if it is a layer of the model that is
            trained, such as `TokenTagger.crf`; that of a loaded `TokenTagger`
            takes the place of None.

    Call arguments:
        y_true: int tensor (batch, seq) of tags.
        y_pred: float tensor (batch, seq, tags) of logits.
        sample_weight: tensor (batch, seq), nonzero where a position counts;
            None counts all.
    """

    def __init__(self, crf=None, **kwargs):
        super().__init__(**kwargs)
        self.crf = crf

    # Not `call`: the weights say what the sequences are made of.
    def __call__(self, y_true, y_pred, sample_weight=None):
        if sample_weight is None:
            sample_weight = ops.ones_like(y_true)
        counted = ops.cast(ops.not_equal(sample_weight, 0), "float32")
        likelihood = self.crf.log_likelihood(y_pred, y_true, counted)
        loss = -ops.sum(likelihood) / ops.maximum(ops.sum(counted), 1.0)
        if self.reduction == "sum":
            loss = loss * ops.sum(ops.cast(sample_weight, "float32"))
        return loss
