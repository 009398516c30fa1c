"""The normalisations of an encoder, by name."""

import keras

from keras_encoder.layers.checks import check_epsilon

ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
if ON_TENSORFLOW:
    from keras_encoder import tensorflow_kernels


@keras.saving.register_keras_serializable(package="keras_encoder")
class LayerNormalization(keras.layers.LayerNormalization):
    """Keras' own, with a faster gradient on TensorFlow."""

    def call(self, inputs, training=False):
        if not (ON_TENSORFLOW and training):
            return super().call(inputs)
        return tensorflow_kernels.layer_norm(
            inputs, self.gamma, self.beta, self.epsilon
        )


# Keras computes the statistics of both in float32, whatever the policy.
NORMS = {
    # (x - mean) / sqrt(variance + epsilon) * gamma + beta, over the features
    # of a token: https://arxiv.org/abs/1607.06450.
    "layer_norm": LayerNormalization,
    # x / sqrt(mean(x^2) + epsilon) * scale: https://arxiv.org/abs/1910.07467.
    "rms_norm": keras.layers.RMSNormalization,
}


def make_norm(norm, epsilon, **kwargs):
    """Makes the normalisation layer of a name.

    Args:
        norm: `"layer_norm"` or `"rms_norm"`.
        epsilon: float. Added to the variance, or to the mean square.
        **kwargs: of the layer, such as `dtype` and `name`.

    Raises:
        ValueError: for another name or a negative epsilon.
    """
    if not isinstance(norm, str) or norm not in NORMS:
        raise ValueError(
            f"`norm` must be one of {sorted(NORMS)}. Received: norm={norm!r}"
        )
    check_epsilon(layer_norm_epsilon=epsilon)
    return NORMS[norm](epsilon=epsilon, **kwargs)
