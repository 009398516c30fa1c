"""Safetensors files, single or sharded, without executing or copying."""

import contextlib
import pathlib

import safetensors
from safetensors import safe_open

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.weight_files import (
    check_content,
    check_new,
    find_weight_files,
)

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


def is_in(folder):
    """Whether a folder holds safetensors, single or sharded."""
    folder = pathlib.Path(folder)
    return (folder / SINGLE).exists() or (folder / INDEX).exists()


@contextlib.contextmanager
def open_tensors(folder):
    """Opens the safetensors of a folder as one mapping of lazy tensors.

    Args:
        folder: path that holds `model.safetensors`, or shards and their
            `model.safetensors.index.json`.

    Yields:
        Dict of tensor name -> function that reads it as a NumPy array.

    Raises:
        CheckpointError: if a file is absent, truncated, a Git LFS pointer or
            outside the folder.
    """
    with contextlib.ExitStack() as stack:
        tensors = {}
        for path in find_weight_files(folder, SINGLE, INDEX):
            opened = stack.enter_context(_open(path))
            for name in opened.keys():
                check_new(name, tensors, path)
                tensors[name] = _reader(opened, name, path)
        yield tensors


def _reader(opened, name, path):
    def read():
        try:
            return opened.get_tensor(name)
        except (safetensors.SafetensorError, TypeError, KeyError) as error:
            raise CheckpointError(
                f"{path}: tensor {name!r} cannot be read ({error})."
            ) from error

    return read


def _open(path):
    check_content(path)
    try:
        return safe_open(path, framework="numpy")
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path}: damaged or not a safetensors file ({error})."
        ) from error
