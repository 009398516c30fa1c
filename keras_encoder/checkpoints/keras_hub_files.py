"""The weight files of KerasHub's BERT, single or sharded, as HDF5."""

import contextlib
import pathlib

import h5py

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.weight_files import (
    check_content,
    find_weight_files,
    widen_bfloat16,
)

SINGLE = "model.weights.h5"
INDEX = "model.weights.json"

# Dataset -> Hugging Face's name. The numbers count a layer's variables.
OUTSIDE_BLOCKS = {
    "layers/reversible_embedding/vars/0": "embeddings.word_embeddings.weight",
    "layers/embedding/vars/0": "embeddings.token_type_embeddings.weight",
    "layers/position_embedding/vars/0": (
        "embeddings.position_embeddings.weight"
    ),
    "layers/layer_normalization/vars/0": "embeddings.LayerNorm.weight",
    "layers/layer_normalization/vars/1": "embeddings.LayerNorm.bias",
    "layers/dense/vars/0": "pooler.dense.weight",
    "layers/dense/vars/1": "pooler.dense.bias",
}
BLOCK = {
    "_self_attention_layer/query_dense": "attention.self.query",
    "_self_attention_layer/key_dense": "attention.self.key",
    "_self_attention_layer/value_dense": "attention.self.value",
    "_self_attention_layer/output_dense": "attention.output.dense",
    "_self_attention_layer_norm": "attention.output.LayerNorm",
    "_feedforward_intermediate_dense": "intermediate.dense",
    "_feedforward_output_dense": "output.dense",
    "_feedforward_layer_norm": "output.LayerNorm",
}
VARIABLES = {"0": "weight", "1": "bias"}
# Stored with an axis for the heads: the first ends with (heads, head_dim),
# the second begins with it.
TO_HEADS = ("query_dense", "key_dense", "value_dense")
FROM_HEADS = "_self_attention_layer/output_dense/vars/0"


@contextlib.contextmanager
def open_tensors(folder, num_layers, num_heads):
    """Opens the weights of a preset folder as one mapping of lazy tensors.

    Args:
        folder: path of a preset folder.
        num_layers: int. Blocks by the config.
        num_heads: int. Attention heads by the config.

    Yields:
        Dict of Hugging Face tensor name -> function that reads it as a NumPy
        array, transposed and without an axis for the heads.

    Raises:
        CheckpointError: if a file is absent, damaged or outside the folder,
            or a dataset has no place in such an encoder.
    """
    names = dataset_names(num_layers)
    with contextlib.ExitStack() as stack:
        tensors = {}
        for path in find_weight_files(folder, SINGLE, INDEX):
            file = stack.enter_context(_open(path))
            for dataset in _datasets(file, path):
                place = dataset.name.removeprefix("/")
                if place not in names:
                    raise CheckpointError(
                        f"{path}: {place!r} has no place in a BERT of "
                        f"{num_layers} layers."
                    )
                tensors[names[place]] = _reader(dataset, path, num_heads)
        yield tensors


def save_tensors(tensors, folder, num_layers, num_heads):
    """Writes `model.weights.h5` into an existing folder.

    Args:
        tensors: dict of Hugging Face tensor name -> array.
        folder: path of a folder.
        num_layers: int. Blocks.
        num_heads: int. Attention heads.
    """
    with h5py.File(pathlib.Path(folder) / SINGLE, "w") as file:
        for place, name in dataset_names(num_layers).items():
            array = tensors[name].T if _is_kernel(place) else tensors[name]
            file[place] = _split_heads(array, place, num_heads)


def dataset_names(num_layers):
    """Dict of every dataset -> Hugging Face's name, for a number of blocks."""
    names = dict(OUTSIDE_BLOCKS)
    for i in range(num_layers):
        layer = f"transformer_encoder_{i}" if i else "transformer_encoder"
        for theirs, ours in BLOCK.items():
            for number, variable in VARIABLES.items():
                place = f"layers/{layer}/{theirs}/vars/{number}"
                names[place] = f"encoder.layer.{i}.{ours}.{variable}"
    return names


def _reader(dataset, path, num_heads):
    place = dataset.name.removeprefix("/")

    def read():
        try:
            array = dataset[()]
            if dataset.attrs.get("dtype") == "bfloat16":
                array = widen_bfloat16(array)
            array = _join_heads(array, place, num_heads)
        except Exception as error:  # HDF5's, and of shapes that do not fit
            raise CheckpointError(
                f"{path}: {place!r} cannot be read ({error})."
            ) from error
        return array.T if _is_kernel(place) else array

    return read


def _is_kernel(place):
    layer, number = place.split("/")[-3], place.split("/")[-1]
    return layer.endswith("dense") and number == "0"


def _join_heads(array, place, num_heads):
    """Merges the axes (heads, head_dim) where a dataset has them."""
    if place.endswith(FROM_HEADS):
        _check_heads(array.shape[0], num_heads)
        return array.reshape(-1, array.shape[-1])
    if place.split("/")[-3] in TO_HEADS:
        _check_heads(array.shape[-2], num_heads)
        return array.reshape(*array.shape[:-2], -1)
    return array


def _split_heads(array, place, num_heads):
    """Gives a dataset the axes (heads, head_dim) where KerasHub has them."""
    if place.endswith(FROM_HEADS):
        return array.reshape(num_heads, -1, array.shape[-1])
    if place.split("/")[-3] in TO_HEADS:
        return array.reshape(*array.shape[:-1], num_heads, -1)
    return array


def _check_heads(found, expected):
    if found != expected:
        raise ValueError(f"expected {expected} heads, found {found}")


def _open(path):
    check_content(path)
    try:
        return h5py.File(path, "r")
    except Exception as error:  # HDF5's: OSError, RuntimeError, KeyError
        raise CheckpointError(
            f"{path}: damaged or not an HDF5 file ({error})."
        ) from error


def _datasets(file, path):
    """The datasets of a file, but not an optimizer's.

    Links to other files are not followed; data in other files is refused.
    """
    found = []

    def visit(name, node):
        if hasattr(node, "shape") and not name.startswith("optimizer/"):
            found.append(node)

    try:
        file.visititems(visit)
        elsewhere = [d.name for d in found if d.external or d.is_virtual]
    except Exception as error:  # HDF5's, and of names that are no text
        raise CheckpointError(f"{path}: damaged ({error}).") from error
    if elsewhere:
        raise CheckpointError(f"{path}: {elsewhere[0]!r} is in another file.")
    return found
