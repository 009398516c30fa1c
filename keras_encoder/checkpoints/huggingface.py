"""Hugging Face BERT folders: one table of names, used both ways."""

import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

from keras_encoder.checkpoints import safetensors_files, torch_files
from keras_encoder.checkpoints.config import (
    config_path,
    encoder_arguments,
    huggingface_config,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.report import LoadReport
from keras_encoder.encoder import Encoder

# Path of our layer -> name of its tensors: what stands outside the blocks,
# the parts of a block, the variables. A `kernel` (in, out) is stored
# transposed, as PyTorch's `weight` (out, in).
OUTSIDE = {
    "embeddings/token_embedding": "embeddings.word_embeddings",
    "embeddings/segment_embedding": "embeddings.token_type_embeddings",
    "embeddings/positions": "embeddings.position_embeddings",
    "embeddings/norm": "embeddings.LayerNorm",
    "final_norm": "final_norm",
    "pooler/dense": "pooler.dense",
}
BLOCK = {
    "attention/query": "attention.self.query",
    "attention/key": "attention.self.key",
    "attention/value": "attention.self.value",
    "attention/output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward/intermediate": "intermediate.dense",
    "feed_forward/gate": "intermediate.gate",
    "feed_forward/output": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
SUFFIXES = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "scale": "weight",
    "embeddings": "weight",
}
# Known and harmless: a constant that older versions saved.
IGNORED = ("embeddings.position_ids",)
# Parts of the encoder: here a tensor without a place means that the numbers
# would be wrong.
ENCODER_PARTS = ("embeddings.", "encoder.", "pooler.", "final_norm.")


def encoder_tensor_name(path):
    """Hugging Face's name, without prefix, of an encoder variable.

    Args:
        path: path of the variable below its encoder, such as
            `"block_3/attention/query/kernel"`.
    """
    layer, _, variable = path.rpartition("/")
    # A kind of positions may call its weights what it likes.
    suffix = SUFFIXES.get(variable, variable)
    if layer in OUTSIDE:
        return f"{OUTSIDE[layer]}.{suffix}"
    block, _, rest = layer.partition("/")
    number = block.removeprefix("block_")
    return f"encoder.layer.{number}.{BLOCK[rest]}.{suffix}"


def load_encoder(folder, **overrides):
    """Makes an `Encoder` from a Hugging Face folder and loads its weights.

    Args:
        folder: path with `config.json` and safetensors, single or sharded.
        **overrides: arguments of `Encoder` that win over `config.json`, such
            as `dropout` or `dtype`.

    Returns:
        The encoder and a `LoadReport`.

    Raises:
        CheckpointError: if a tensor of the encoder is missing, has another
            shape or has no place. Only the pooler may be missing.
    """
    source = config_path(folder)
    arguments = encoder_arguments(read_config(folder), source)
    encoder = make_encoder({**arguments, **overrides}, source)
    with open_folder_tensors(folder) as tensors:
        report = load_encoder_tensors(encoder, tensors, str(folder))
    return encoder, report


def make_encoder(arguments, source):
    """Makes an `Encoder`; a size that it refuses is blamed on the file.

    Args:
        arguments: dict, the arguments of `Encoder`.
        source: the file that they come from, for the message.
    """
    try:
        return Encoder(**arguments)
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{source}: {error}") from error


def open_folder_tensors(folder):
    """Opens the tensors of a folder: safetensors if it has any, else `.bin`.

    Args:
        folder: path of a folder.

    Returns:
        A context manager that yields a dict of tensor name -> function that
        reads it as a NumPy array.
    """
    if not safetensors_files.is_in(folder) and torch_files.is_in(folder):
        return torch_files.open_tensors(folder)
    return safetensors_files.open_tensors(folder)


def load_encoder_tensors(encoder, tensors, source):
    """Loads a mapping of named tensors into an encoder.

    Args:
        encoder: `Encoder`.
        tensors: dict of name -> function that returns an array. Names may
            have the prefixes `module.`, `model.` and `bert.`, and LayerNorms
            may be spelled `gamma`/`beta`.
        source: what to call it in messages.

    Returns:
        A `LoadReport`.
    """
    tensors = plain_names(tensors, source)
    targets = {
        encoder_tensor_name(path): variable
        for path, variable in encoder_variables(encoder)
    }
    missing = [name for name in targets if name not in tensors]
    lost = [name for name in missing if not name.startswith("pooler.")]
    if lost:
        raise CheckpointError(
            f"{source}: the encoder's tensor {lost[0]!r} is missing "
            f"({len(lost)} of {len(targets)} are); found {len(tensors)} "
            f"tensors, such as {', '.join(sorted(tensors)[:3])}."
        )
    unexpected = sorted(n for n in tensors if n not in targets)
    for name in unexpected:
        if name.startswith(ENCODER_PARTS):
            raise CheckpointError(
                f"{source}: {name!r} is a tensor of the encoder, but an "
                f"encoder of this config ({encoder.num_layers} layers) has no "
                "place for it."
            )
    for name, variable in targets.items():
        if name in tensors:
            assign(variable, tensors[name](), name, source)
    return LoadReport(
        source=source,
        matched=tuple(name for name in targets if name in tensors),
        missing=tuple(missing),
        unexpected=tuple(unexpected),
    )


def assign(variable, array, name, source):
    """Assigns a Hugging Face tensor to a variable, transposing kernels."""
    if variable.name == "kernel":
        array = array.T
    if array.shape != tuple(variable.shape):
        found, expected = array.shape, tuple(variable.shape)
        if variable.name == "kernel":
            found, expected = found[::-1], expected[::-1]
        raise CheckpointError(
            f"{source}: tensor {name!r} has the shape {found}, expected "
            f"{expected} by config.json."
        )
    try:
        array = np.ascontiguousarray(array, dtype="float32")
    except (ValueError, TypeError) as error:
        raise CheckpointError(
            f"{source}: tensor {name!r} is no array of numbers ({error})."
        ) from error
    variable.assign(array)


def encoder_variables(encoder):
    """Yields (path below the encoder, variable) for every weight."""
    prefix = len(encoder.path or encoder.name) + 1
    for variable in encoder.weights:
        yield variable.path[prefix:], variable


def encoder_tensors(encoder, prefix="", pooler=True):
    """Dict of Hugging Face name -> float32 array, ready to be saved.

    Args:
        encoder: `Encoder`.
        prefix: str before each name, such as `"bert."`.
        pooler: bool. Include the pooler.
    """
    tensors = {}
    for path, variable in encoder_variables(encoder):
        if pooler or not path.startswith("pooler/"):
            tensors[prefix + encoder_tensor_name(path)] = to_array(variable)
    return tensors


def save_encoder(encoder, folder):
    """Writes `config.json` and `model.safetensors`, as `BertModel` does.

    Args:
        encoder: `Encoder`. What BERT cannot express is written under a
            `model_type` of our own, which transformers refuses.
        folder: path; made if it does not exist.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {**huggingface_config(encoder), "architectures": ["BertModel"]}
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
    save_tensors(encoder_tensors(encoder), folder)


def to_array(variable):
    """A variable's value as Hugging Face stores it: kernels transposed."""
    array = variable.numpy()
    if variable.name == "kernel":
        array = array.T
    return np.ascontiguousarray(array, dtype="float32")


def save_tensors(tensors, folder):
    """Writes `model.safetensors` into an existing folder."""
    path = pathlib.Path(folder) / safetensors_files.SINGLE
    save_file(
        tensors,
        path,
        # transformers refuses files that do not say who they are for.
        metadata={"format": "pt"},
    )
    path.chmod(0o644)  # the library makes it private


def plain_names(tensors, source):
    """Strips prefixes and mends old spellings of tensor names.

    Args:
        tensors: dict of name -> anything.
        source: what to call it in messages.
    """
    plain = renamed(tensors, _plain_name, source)
    return {name: read for name, read in plain.items() if name not in IGNORED}


def _plain_name(name):
    name = name.removeprefix("module.").removeprefix("model.")
    parts = name.removeprefix("bert.").split(".")
    if len(parts) > 1 and parts[-2] == "LayerNorm":
        parts[-1] = {"gamma": "weight", "beta": "bias"}.get(
            parts[-1], parts[-1]
        )
    return ".".join(parts)


def renamed(tensors, rename, source):
    """The tensors by other names.

    Args:
        tensors: dict of name -> anything.
        rename: function from a name to ours.
        source: what to call it in messages.

    Raises:
        CheckpointError: if two tensors get one name.
    """
    found = {}
    for name, read in tensors.items():
        ours = rename(name)
        if ours in found:
            raise CheckpointError(
                f"{source}: two tensors have the name {ours!r} once prefixes "
                "are dropped."
            )
        found[ours] = read
    return found
