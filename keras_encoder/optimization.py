"""The optimizer that BERT-style encoders are fine-tuned with."""

import re

import keras
from keras import ops

ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
if ON_TENSORFLOW:
    from keras_encoder import tensorflow_kernels


@keras.saving.register_keras_serializable(package="keras_encoder")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear from 0 to the peak, then linear to 0.

    Args:
        peak: float. The highest learning rate.
        warmup_steps: int. Steps until the peak; the first step already
            learns (at `peak / warmup_steps`).
        total_steps: int. Step at which the rate is 0.
        steps_per_update: int. Steps that Keras counts for each of these,
            where it adds up gradients.

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805), A.2
    """

    def __init__(self, peak, warmup_steps, total_steps, steps_per_update=1):
        super().__init__()
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.steps_per_update = steps_per_update

    def __call__(self, step):
        step = ops.floor_divide(step, self.steps_per_update)
        step = ops.cast(step, "float32")
        up = (step + 1.0) / max(1, self.warmup_steps)
        down = (self.total_steps - step) / max(
            1, self.total_steps - self.warmup_steps
        )
        return self.peak * ops.clip(ops.minimum(up, down), 0.0, 1.0)

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "steps_per_update": self.steps_per_update,
        }


@keras.saving.register_keras_serializable(package="keras_encoder")
class WholeGradientsAdamW(keras.optimizers.AdamW):
    """AdamW that sums what TensorFlow gives for one embedding in pieces.

    There a gradient of an embedding is one row for each token of the batch.
    Keras clips by the norm of these rows, and its Adam takes them one by one,
    so that a token that comes often would weigh otherwise than on JAX and
    PyTorch. A step is one kernel there for each variable, not a dozen.

    Made as `keras.optimizers.AdamW` is.
    """

    def _clip_gradients(self, grads):
        if ON_TENSORFLOW:
            grads = [tensorflow_kernels.whole_gradient(g) for g in grads]
            if self.global_clipnorm and not self.clipnorm:
                return tensorflow_kernels.clip_by_global_norm(
                    grads, self.global_clipnorm
                )
        return super()._clip_gradients(grads)

    def update_step(self, gradient, variable, learning_rate):
        if not ON_TENSORFLOW or self.amsgrad:
            return super().update_step(gradient, variable, learning_rate)
        index = self._get_variable_index(variable)
        return tensorflow_kernels.adam_step(
            gradient,
            variable,
            self._momentums[index].value,
            self._velocities[index].value,
            self.iterations + 1,
            learning_rate,
            (self.beta_1, self.beta_2),
            self.epsilon,
        )


@keras.saving.register_keras_serializable(package="keras_encoder")
class LayerwiseAdamW(WholeGradientsAdamW):
    """AdamW whose learning rate shrinks from the top block downwards.

    Args:
        layer_decay: float in (0, 1]. Each block learns at `layer_decay` times
            the rate of the block above it; the embeddings come below block
            0, everything outside the blocks learns at the full rate.
        num_layers: int. Blocks of the encoder.
        **kwargs: as in `keras.optimizers.AdamW`.

    Reference:
        [Howard and Ruder, 2018](https://arxiv.org/abs/1801.06146), 3.2
        (discriminative fine-tuning)
    """

    def __init__(self, layer_decay=1.0, num_layers=0, **kwargs):
        super().__init__(**kwargs)
        self.layer_decay = layer_decay
        self.num_layers = num_layers

    def multiplier(self, variable):
        """Factor on the learning rate of a variable, by its path."""
        # TensorFlow's own variables come here too; their name is the path.
        path = getattr(variable, "path", variable.name)
        block = re.search(r"/block_(\d+)/", path)
        if block:
            return self.layer_decay ** (self.num_layers - 1 - int(block[1]))
        if "/embeddings/" in path:
            return self.layer_decay**self.num_layers
        return 1.0

    def update_step(self, gradient, variable, learning_rate):
        super().update_step(
            gradient, variable, learning_rate * self.multiplier(variable)
        )

    def _apply_weight_decay(self, variables):
        for variable in variables:
            if self._use_weight_decay(variable):
                rate = self.learning_rate * self.multiplier(variable)
                factor = 1.0 - rate * self.weight_decay
                variable.assign(variable * ops.cast(factor, variable.dtype))

    def get_config(self):
        config = super().get_config()
        config.update(layer_decay=self.layer_decay, num_layers=self.num_layers)
        return config


def make_optimizer(
    variables,
    learning_rate,
    total_steps,
    warmup=0.1,
    weight_decay=0.01,
    clip_norm=1.0,
    layer_decay=1.0,
    num_layers=0,
    scale_loss=False,
    steps_per_update=1,
):
    """AdamW as BERT is fine-tuned with: schedule, clipping, exclusions.

    Biases and the weights of norms (every variable of one axis) are not
    decayed. Keras stores no such exclusion: an optimizer that comes out of a
    `.keras` file decays them, too, unless they are excluded again.

    Args:
        variables: the variables that will be trained.
        learning_rate: float. Peak of the schedule.
        total_steps: int. Steps of the whole training.
        warmup: float in [0, 1). Share of the steps before the peak.
        weight_decay: float. Decoupled decay, times the learning rate a step.
        clip_norm: float or None. Largest norm of all gradients together;
            None or 0 clips nothing.
        layer_decay: float in (0, 1]. Factor from each block to the one below.
        num_layers: int. Blocks of the encoder, for `layer_decay`.
        scale_loss: bool. Scale the loss, so that gradients in float16 do not
            vanish; Keras does so by itself only where the whole model has
            that policy.
        steps_per_update: int. Steps whose gradients are averaged into one
            update, for batches that are too large to be taken at once.
            Schedule, decay and clipping go by updates.

    Reference:
        [Loshchilov and Hutter, 2019](https://arxiv.org/abs/1711.05101)
    """
    updates = max(1, total_steps // steps_per_update)
    arguments = dict(
        learning_rate=WarmupLinearDecay(
            learning_rate, round(warmup * updates), updates, steps_per_update
        ),
        weight_decay=weight_decay,
        global_clipnorm=clip_norm or None,
        epsilon=1e-8,
        gradient_accumulation_steps=(
            steps_per_update if steps_per_update > 1 else None
        ),
    )
    if layer_decay < 1.0:
        optimizer = LayerwiseAdamW(layer_decay, num_layers, **arguments)
    elif ON_TENSORFLOW:
        optimizer = WholeGradientsAdamW(**arguments)
    else:  # on PyTorch Keras has a fast one, for this very class
        optimizer = keras.optimizers.AdamW(**arguments)
    optimizer.exclude_from_weight_decay(
        var_list=[v for v in variables if len(v.shape) < 2]
    )
    if scale_loss:
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
    # Else TensorFlow traces the first step twice: once to make its variables.
    optimizer.build(variables)
    return optimizer
