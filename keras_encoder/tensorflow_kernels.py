"""What TensorFlow computes here with fewer passes over memory than in Keras.

A training step on a CPU spends a fifth of its time between the matrix
products, reading and writing tensors that are larger than the caches:
TensorFlow runs each operation of a formula, and of its gradient, alone. The
functions below return the same numbers. Import this module on TensorFlow only.
"""

import math
import sys

import tensorflow as tf

# Apple's GPUs have no XLA.
_HAS_XLA = sys.platform != "darwin" or not tf.config.list_physical_devices(
    "GPU"
)


def _one_kernel(function):
    """Lets XLA compile a function of elementwise operations into one loop."""
    return tf.function(function, jit_compile=_HAS_XLA, reduce_retracing=True)


@tf.custom_gradient
def gelu(x):
    """GELU, `x Phi(x)`, for training: nothing but `x` is kept.

    In inference TensorFlow computes a product, its bias and Keras' GELU at
    once, which this one would hinder.

    Args:
        x: float tensor. Half precision is computed in float32.

    Returns:
        Tensor of the same shape and dtype.

    Reference:
        [Hendrycks and Gimpel, 2016](https://arxiv.org/abs/1606.08415)
    """
    return _gelu(x), lambda gradient: _gelu_gradient(x, gradient)


@_one_kernel
def _gelu(x):
    wide = tf.cast(x, tf.float32)
    return tf.cast(wide * _normal_distribution(wide), x.dtype)


@_one_kernel
def _gelu_gradient(x, gradient):
    wide = tf.cast(x, tf.float32)
    density = tf.exp(-0.5 * wide * wide) / math.sqrt(2 * math.pi)
    slope = _normal_distribution(wide) + wide * density
    return tf.cast(tf.cast(gradient, tf.float32) * slope, x.dtype)


def _normal_distribution(x):
    return 0.5 * (1.0 + tf.math.erf(x * math.sqrt(0.5)))


def layer_norm(x, gamma, beta, epsilon):
    """Normalisation over the last axis, with its gradient in closed form.

    Args:
        x: float tensor (..., features).
        gamma, beta: float32 tensors (features,).
        epsilon: float. Added to the variance.

    Returns:
        Tensor of the shape and dtype of `x`; statistics are in float32.

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450). With
        `n = (x - mean) / deviation` and `h = gamma * dy`, the gradient is
        `(h - mean(h) - n mean(h n)) / deviation`.
    """

    @tf.custom_gradient
    def normalise(x, gamma, beta):
        wide = tf.cast(x, tf.float32)
        centred = wide - tf.reduce_mean(wide, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        inverse = tf.math.rsqrt(variance + epsilon)
        normal = centred * inverse

        def gradient(dy):
            dy = tf.cast(dy, tf.float32)
            scaled = dy * gamma
            mean = tf.reduce_mean(scaled, axis=-1, keepdims=True)
            along = tf.reduce_mean(scaled * normal, axis=-1, keepdims=True)
            dx = inverse * (scaled - (mean + normal * along))
            rows = [*range(len(x.shape) - 1)]
            return (
                tf.cast(dx, x.dtype),
                tf.reduce_sum(dy * normal, axis=rows),
                tf.reduce_sum(dy, axis=rows),
            )

        return tf.cast(normal * gamma + beta, x.dtype), gradient

    return normalise(x, tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta))


def whole_gradient(gradient):
    """The gradient of an embedding as one tensor; others as they are.

    TensorFlow gives one row for each token of a batch, also where a token
    comes often.
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(
        gradient.values, gradient.indices, gradient.dense_shape[0]
    )


def clip_by_global_norm(gradients, norm):
    """Scales gradients so that their norm together is at most `norm`."""
    return tf.clip_by_global_norm(gradients, norm)[0]


def adam_step(
    gradient, variable, momentum, velocity, step, rate, betas, epsilon
):
    """One step of Adam on a variable, in place.

    Args:
        gradient: tensor of the variable's shape.
        variable, momentum, velocity: `tf.Variable`s of one shape.
        step: int tensor, 1 for the first step.
        rate: float tensor, the learning rate.
        betas: pair of floats.
        epsilon: float.

    Reference:
        [Kingma and Ba, 2014](https://arxiv.org/abs/1412.6980), section 2,
        with the efficient order of its last paragraph.
    """
    dtype = variable.dtype
    step = tf.cast(step, dtype)
    first, second = (tf.constant(beta, dtype) for beta in betas)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=momentum.handle,
        v=velocity.handle,
        beta1_power=first**step,
        beta2_power=second**step,
        lr=tf.cast(rate, dtype),
        beta1=first,
        beta2=second,
        epsilon=tf.constant(epsilon, dtype),
        grad=tf.cast(gradient, dtype),
    )
