"""The tensors of a folder with a task head, by one set of names."""

import contextlib

import numpy as np

from keras_encoder.checkpoints import distilbert, tensorflow
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    open_folder_tensors,
    plain_names,
    renamed,
)

# Copies of a tensor that some files have -> the one that is ours.
TIED = {
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


@contextlib.contextmanager
def open_named_tensors(folder):
    """Yields a folder's tensors by the names that BERT has in transformers.

    Args:
        folder: path of a folder that transformers, `save_head` or TensorFlow
            1 wrote.

    Yields:
        Dict of name -> function that returns an array.
    """
    if tensorflow.is_in(folder):
        yield plain_names(tensorflow.open_tensors(folder), str(folder))
        return
    with open_folder_tensors(folder) as tensors:
        if distilbert.is_in(folder):
            yield renamed(tensors, distilbert.tensor_name, str(folder))
        else:
            yield plain_names(tensors, str(folder))


def untied(tensors, model, folder):
    """The tensors without copies; a copy stands in for what is missing.

    Args:
        tensors: dict, as from `open_named_tensors`.
        model: from `keras_encoder.heads`; only a head that guesses tokens
            has anything that is tied.
        folder: path, for the message.

    Raises:
        CheckpointError: if a copy differs from what it should be one of.
    """
    tensors = dict(tensors)
    for copy, name in TIED.items():
        if copy not in tensors or "cls.predictions.bias" not in model.tensors():
            continue
        own = tensors.setdefault(name, tensors[copy])
        if not np.array_equal(own(), tensors.pop(copy)()):
            raise CheckpointError(
                f"{folder}: the tensor {copy!r} differs from {name!r}; "
                "expected them to be tied, that is, the same."
            )
    return tensors
