"""Which weights train: the one place that changes `trainable`."""

import contextlib
import zlib

import numpy as np


def set_trainable(task, blocks: int | None, pooler_is_random: bool = False):
    """Freezes all but the head and the top `blocks` blocks (None: nothing).

    The pooler belongs to the encoder and is frozen with its last block,
    unless its weights are random.
    """
    unfreeze(task)
    encoder = task.encoder
    if not task.reads_first_token:
        encoder.pooler.trainable = False  # a tagger never runs it
    if blocks is None:
        return
    if blocks > encoder.num_layers:
        raise ValueError(
            f"`blocks` must be at most {encoder.num_layers}, the blocks of "
            f"the encoder. Received: blocks={blocks}"
        )
    frozen = encoder.num_layers - blocks
    encoder.embeddings.trainable = False
    for block in encoder.blocks[:frozen]:
        block.trainable = False
    if blocks == 0:
        encoder.pooler.trainable = pooler_is_random and task.reads_first_token
        if encoder.final_norm is not None:
            encoder.final_norm.trainable = False


def unfreeze(model):
    """Makes every weight of a model trainable.

    On TensorFlow an attribute that already has a value is not set again, so
    `trainable = True` would stop at the first layer that is trainable itself,
    whatever is frozen below it.
    """
    model.trainable = False
    model.trainable = True


def count_parameters(variables) -> int:
    """Number of scalars in a list of variables."""
    return int(sum(np.prod(v.shape) for v in variables))


@contextlib.contextmanager
def frozen_stay(model, stage: str):
    """Checks that what is frozen now is the same to the bit at the end.

    Args:
        model: Keras model.
        stage: its name, for the message.

    Raises:
        RuntimeError: naming the first weight that is not.
    """
    # Of what is frozen now: a callback may change what is, too.
    before = [(v, _digest(v)) for v in model.non_trainable_weights]
    yield
    for variable, digest in before:
        if _digest(variable) != digest:
            raise RuntimeError(
                f"Stage {stage} changed the frozen {variable.path}."
            )


def _digest(variable) -> int:
    return zlib.crc32(np.ascontiguousarray(variable.numpy()).view("uint8"))
