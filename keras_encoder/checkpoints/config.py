"""Between `config.json` of Hugging Face and the arguments of `Encoder`."""

import json
import pathlib

from keras_encoder.checkpoints.errors import CheckpointError

# Ours -> Hugging Face's (model_type "bert").
NAMES = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "layer_norm_epsilon": "layer_norm_eps",
}
# What transformers assumes where a file leaves it out.
DEFAULTS = {
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
# Hugging Face's `hidden_act` -> ours. Its "gelu" is the exact one.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
# Arguments that Hugging Face's BERT has no word for, and what it is in them.
# An encoder that differs is written under a `model_type` of our own, where
# they have our names.
OWN_MODEL_TYPE = "keras_encoder"
BERT_IS = {"norm_first": False, "positions": "learned", "norm": "layer_norm"}
# An activation of ours alone, under its own name.
OWN_ACTIVATIONS = {**ACTIVATIONS, "geglu": "geglu"}


def config_path(folder):
    """`config.json` of a folder, or its name of 2018, `bert_config.json`."""
    path = pathlib.Path(folder) / "config.json"
    old = path.with_name("bert_config.json")
    return old if old.exists() and not path.exists() else path


def read_config(folder):
    """Reads the config of a folder as a dict.

    Raises:
        CheckpointError: if it is absent or no JSON object.
    """
    path = config_path(folder)
    try:
        config = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path}: no such file; expected a Hugging Face model folder."
        ) from error
    except ValueError as error:
        raise CheckpointError(f"{path}: expected JSON ({error}).") from error
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: expected a JSON object.")
    return config


def encoder_arguments(config, source="config.json"):
    """Translates a Hugging Face config into arguments of `Encoder`.

    Args:
        config: dict, the content of a `config.json`.
        source: what to call it in messages.

    Raises:
        CheckpointError: for a key that is missing or a kind of model, of
            activation or of positions that `Encoder` has not.
    """
    model_type = config.get("model_type", "bert")
    if model_type not in ("bert", OWN_MODEL_TYPE):
        raise CheckpointError(
            f"{source}: expected model_type 'bert', found {model_type!r}."
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(
            f"{source}: expected position_embedding_type 'absolute', found "
            f"{config['position_embedding_type']!r}."
        )
    if config.get("is_decoder"):
        raise CheckpointError(
            f"{source}: expected an encoder, found is_decoder true."
        )
    is_own = model_type == OWN_MODEL_TYPE
    activation = read_activation(
        config,
        "hidden_act",
        source,
        OWN_ACTIVATIONS if is_own else ACTIVATIONS,
    )
    own = {
        name: config.get(name, value) if is_own else value
        for name, value in BERT_IS.items()
    }
    config = {**DEFAULTS, **config}
    missing = [name for name in NAMES.values() if name not in config]
    if missing:
        raise CheckpointError(f"{source}: missing {', '.join(missing)}.")
    return dict(
        {ours: config[theirs] for ours, theirs in NAMES.items()},
        activation=activation,
        **own,
    )


def read_activation(config, key, source, names=ACTIVATIONS):
    """Our name of the activation that a config has under a key.

    Args:
        config: dict, the content of a `config.json`.
        key: where it says the activation; exact GELU if it does not.
        source: what to call the file in messages.
        names: dict of their name -> ours.

    Raises:
        CheckpointError: if `Encoder` has no such activation.
    """
    name = config.get(key, "gelu")
    if not isinstance(name, str) or name not in names:
        raise CheckpointError(
            f"{source}: expected {key} to be one of {sorted(names)}, "
            f"found {name!r}."
        )
    return names[name]


def huggingface_config(encoder):
    """Translates an `Encoder` into a dict for `config.json`.

    The result is BERT's where BERT can express the encoder; else it has a
    `model_type` of our own, which transformers refuses instead of misreading.
    """
    to_theirs = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}
    activation = encoder.activation
    own = {name: getattr(encoder, name) for name in BERT_IS}
    is_bert = own == BERT_IS and activation in to_theirs
    return {
        "model_type": "bert" if is_bert else OWN_MODEL_TYPE,
        **{theirs: getattr(encoder, ours) for ours, theirs in NAMES.items()},
        "hidden_act": to_theirs.get(activation, activation),
        "initializer_range": 0.02,
        "pad_token_id": 0,
        **({} if is_bert else own),
    }
