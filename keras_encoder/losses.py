"""Cross-entropy of class ids, smoothed or focal, for texts and for words."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_encoder")
class SmoothCrossentropy(keras.losses.Loss):
    """Mean cross-entropy over what has a weight.

    `-(1 - p)^focal * log p` for the right class, with label smoothing: the
    target is `1 - s` on the right class plus `s / classes` on every class.
    The mean is over the weights, so padding and uncounted words change
    nothing, and it is 0, not NaN, where nothing counts.

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
