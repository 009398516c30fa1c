"""Hugging Face DistilBERT folders: BERT without segments and pooler."""

import re

import numpy as np

from keras_encoder.checkpoints.config import (
    config_path,
    read_activation,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    load_encoder_tensors,
    make_encoder,
    open_folder_tensors,
    renamed,
)

MODEL_TYPE = "distilbert"
# Ours -> DistilBERT's. Its `hidden_dim` is our `intermediate_dim`.
CONFIG = {
    "vocabulary_size": "vocab_size",
    "num_layers": "n_layers",
    "num_heads": "n_heads",
    "hidden_dim": "dim",
    "intermediate_dim": "hidden_dim",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "max_sequence_length": "max_position_embeddings",
}
# What transformers assumes where a file leaves it out.
DEFAULTS = {
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "max_position_embeddings": 512,
}
# DistilBERT's part of a layer -> BERT's. Embeddings have the same names;
# sinusoidal positions, if it has them, are stored like learned ones.
BLOCK = {
    "attention.q_lin": "attention.self.query",
    "attention.k_lin": "attention.self.key",
    "attention.v_lin": "attention.self.value",
    "attention.out_lin": "attention.output.dense",
    "sa_layer_norm": "attention.output.LayerNorm",
    "ffn.lin1": "intermediate.dense",
    "ffn.lin2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
# The head that guesses masked tokens.
HEAD = {
    "vocab_transform.weight": "cls.predictions.transform.dense.weight",
    "vocab_transform.bias": "cls.predictions.transform.dense.bias",
    "vocab_layer_norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "vocab_layer_norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "vocab_projector.weight": "cls.predictions.decoder.weight",
    "vocab_projector.bias": "cls.predictions.bias",
}
SEGMENTS = "embeddings.token_type_embeddings.weight"


def is_in(folder):
    """Whether a folder's config says that it is DistilBERT."""
    return (
        config_path(folder).exists()
        and read_config(folder).get("model_type") == MODEL_TYPE
    )


def load_encoder(folder, **overrides):
    """Makes an `Encoder` from a DistilBERT folder and loads its weights.

    The encoder has one segment, whose embedding is zero, and a random pooler.

    Args:
        folder: path with `config.json` and safetensors or `.bin` files.
        **overrides: arguments of `Encoder` that win over `config.json`.

    Returns:
        The encoder and a `LoadReport`.

    Raises:
        CheckpointError: as `huggingface.load_encoder`.
    """
    source = config_path(folder)
    arguments = encoder_arguments(read_config(folder), source)
    encoder = make_encoder({**arguments, **overrides}, source)
    with open_folder_tensors(folder) as tensors:
        tensors = renamed(tensors, tensor_name, str(folder))
        shape = (encoder.num_segments, encoder.hidden_dim)
        tensors[SEGMENTS] = lambda: np.zeros(shape, "float32")
        report = load_encoder_tensors(encoder, tensors, str(folder))
    return encoder, report


def encoder_arguments(config, source):
    """Translates a DistilBERT config into arguments of `Encoder`."""
    activation = read_activation(config, "activation", source)
    config = {**DEFAULTS, **config}
    missing = [name for name in CONFIG.values() if name not in config]
    if missing:
        raise CheckpointError(f"{source}: missing {', '.join(missing)}.")
    return dict(
        {ours: config[theirs] for ours, theirs in CONFIG.items()},
        activation=activation,
        num_segments=1,
        layer_norm_epsilon=1e-12,
    )


def tensor_name(name):
    """BERT's name for a tensor of DistilBERT's."""
    name = name.removeprefix("module.").removeprefix("distilbert.")
    match = re.fullmatch(r"transformer\.layer\.(\d+)\.(.+)\.(\w+)", name)
    if match is None:
        return HEAD.get(name, name)
    number, part, kind = match.groups()
    return f"encoder.layer.{number}.{BLOCK.get(part, part)}.{kind}"
