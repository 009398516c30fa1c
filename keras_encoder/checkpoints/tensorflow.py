"""Folders that Google's BERT code of 2018 (TensorFlow 1) wrote.

Their `hidden_act` "gelu" is read as the exact one, as transformers does when
it converts them.
"""

import pathlib
import re

from keras_encoder.checkpoints.config import (
    config_path,
    encoder_arguments,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    load_encoder_tensors,
    make_encoder,
)
from keras_encoder.checkpoints.weight_files import check_content
from keras_encoder.tokenizer import Tokenizer
from keras_encoder.tokenizer_files import read_vocabulary

# Whole names of variables -> Hugging Face's names of tensors.
NAMES = {
    "cls/predictions/output_bias": "cls.predictions.bias",
    "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
    "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
    "output_weights": "classifier.weight",
    "output_bias": "classifier.bias",
}
# Last parts of the other names; `layer_3` becomes `layer.3`, and the rest is
# the same. A `kernel` (in, out) is a `weight` (out, in), transposed.
LAST_PARTS = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "word_embeddings": "word_embeddings.weight",
    "token_type_embeddings": "token_type_embeddings.weight",
    "position_embeddings": "position_embeddings.weight",
}
# The optimizer's, to be left alone.
OPTIMIZER_PARTS = frozenset(
    {
        "adam_m",
        "adam_v",
        "AdamWeightDecayOptimizer",
        "AdamWeightDecayOptimizer_1",
        "global_step",
    }
)
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def is_in(folder):
    """Whether a folder holds a TensorFlow checkpoint and nothing newer."""
    folder = pathlib.Path(folder)
    return any(folder.glob("*.ckpt*.index")) and not (
        any(folder.glob("*.safetensors")) or any(folder.glob("*.bin"))
    )


def load_encoder(folder, **overrides):
    """Makes an `Encoder` from a TensorFlow 1 folder and loads its weights.

    Args:
        folder: path with `bert_config.json` and `bert_model.ckpt.*`.
        **overrides: arguments of `Encoder` that win over the config.

    Returns:
        The encoder and a `LoadReport`.

    Raises:
        CheckpointError: if TensorFlow is not installed, or as
            `huggingface.load_encoder`.
    """
    source = config_path(folder)
    arguments = encoder_arguments(read_config(folder), source)
    encoder = make_encoder({**arguments, **overrides}, source)
    tensors = open_tensors(folder)
    return encoder, load_encoder_tensors(encoder, tensors, _prefix(folder))


def load_tokenizer(folder):
    """The folder's tokenizer; whether it lower-cases shows in `vocab.txt`.

    No file of these folders says it, but only a cased vocabulary has tokens
    with capitals, beside the special ones in brackets.
    """
    folder = pathlib.Path(folder)
    if (folder / "tokenizer_config.json").exists():
        return Tokenizer.from_folder(folder)
    vocabulary = read_vocabulary(folder / "vocab.txt")
    plain = [token for token in vocabulary if not token.startswith("[")]
    lowercase = all(token == token.lower() for token in plain)
    return Tokenizer.from_vocabulary(vocabulary, lowercase=lowercase)


def open_tensors(folder):
    """`read_tensors` of the one checkpoint in a folder."""
    return read_tensors(_prefix(folder))


def read_tensors(prefix):
    """Opens a checkpoint as a mapping of lazy tensors.

    Args:
        prefix: str, the path without `.index` and `.data-00000-of-00001`.

    Returns:
        Dict of Hugging Face tensor name -> function that reads it as a NumPy
        array. The optimizer's variables are not among them.
    """
    reader = _open(prefix)
    variables = reader.get_variable_to_shape_map()
    if OBJECT_GRAPH in variables:
        raise CheckpointError(
            f"{prefix}: expected variables such as bert/pooler/dense/kernel, "
            "found the objects of a TensorFlow 2 checkpoint. Convert it with "
            "the code that wrote it."
        )
    return {
        tensor_name(name): _reader(reader, name, prefix)
        for name in variables
        if not OPTIMIZER_PARTS & set(name.split("/"))
    }


def tensor_name(name):
    """Hugging Face's name for a variable of a TensorFlow 1 checkpoint."""
    if name in NAMES:
        return NAMES[name]
    *parts, last = name.split("/")
    parts = [re.sub(r"^layer_(\d+)$", r"layer.\1", part) for part in parts]
    return ".".join([*parts, LAST_PARTS.get(last, last)])


def _prefix(folder):
    found = sorted(pathlib.Path(folder).glob("*.ckpt*.index"))
    released = [path for path in found if path.name == "bert_model.ckpt.index"]
    found = released or found
    if len(found) != 1:
        raise CheckpointError(
            f"{folder}: expected one checkpoint such as bert_model.ckpt.index,"
            f" found {', '.join(path.name for path in found) or 'none'}."
        )
    for path in found[0].parent.glob(f"{found[0].stem}.*"):
        check_content(path)
    return str(found[0].with_suffix(""))


def _open(prefix):
    try:
        import tensorflow as tf
    except ImportError as error:
        raise CheckpointError(
            f"{prefix}: TensorFlow reads this checkpoint, but is not "
            'installed: pip install "keras-encoder[tensorflow]"'
        ) from error
    try:
        return tf.train.load_checkpoint(prefix)
    except Exception as error:  # TensorFlow's own, and many more
        raise CheckpointError(
            f"{prefix}: damaged or not a TensorFlow checkpoint ({error})."
        ) from error


def _reader(reader, name, prefix):
    def read():
        try:
            array = reader.get_tensor(name)
        except Exception as error:  # TensorFlow's own, and many more
            raise CheckpointError(
                f"{prefix}: variable {name!r} cannot be read ({error})."
            ) from error
        return array.T if name.endswith("/kernel") else array

    return read
