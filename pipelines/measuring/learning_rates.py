"""Which learning rates a model trains at: one start, the same batches."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_encoder.losses import SmoothCrossentropy


def losses_by_schedule(
    model: keras.Model,
    inputs: dict[str, np.ndarray],
    targets: np.ndarray,
    schedules: Sequence[tuple[float, int]],
    steps: int,
    batch_size: int = 32,
    seed: int = 42,
) -> dict[tuple[float, int], np.ndarray]:
    """Trains a classifier with Adam once a schedule, from the same start.

    Compiled once: a deep model takes longer to compile than to train.

    Args:
        model: from `inputs` to logits (batch, classes). It is compiled here;
            its weights are the same afterwards.
        inputs: dict of arrays (rows, ...).
        targets: int array (rows,) of class ids.
        schedules: (learning rate, steps over which it rises linearly to
            that) pairs; it is constant afterwards.
        steps: batches to train on.
        batch_size: rows a step, drawn without replacement.
        seed: of the draw.

    Returns:
        For each schedule the loss of each batch before its step, (steps,).
    """
    start = model.get_weights()
    optimizer = keras.optimizers.Adam(1.0, epsilon=1e-8)
    optimizer.build(model.trainable_variables)
    fresh = [v.numpy() for v in optimizer.variables]
    model.compile(
        optimizer=optimizer,
        loss=SmoothCrossentropy(),
        # XLA takes longer than these few steps do.
        jit_compile=keras.backend.backend() == "jax",
    )
    found = {}
    for rate, warmup in schedules:
        model.set_weights(start)
        for variable, value in zip(optimizer.variables, fresh, strict=True):
            variable.assign(value)
        generator = np.random.default_rng(seed)
        losses = []
        for step in range(steps):
            share = min(1.0, (step + 1) / max(1, warmup))
            optimizer.learning_rate = rate * share
            rows = generator.choice(len(targets), batch_size, replace=False)
            model.reset_metrics()  # else the mean of all steps so far
            losses.append(
                model.train_on_batch(
                    {name: array[rows] for name, array in inputs.items()},
                    targets[rows],
                )
            )
        found[rate, warmup] = np.array(losses, "float64")
    model.set_weights(start)
    return found
