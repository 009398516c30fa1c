"""KerasHub preset folders of BERT: read and written without KerasHub.

KerasHub's BERT has the tanh GELU and the epsilon 1e-12, whatever it was
converted from; neither is written in its files.
"""

import contextlib
import json
import pathlib
import tempfile

import numpy as np

from keras_encoder.checkpoints import keras_hub_files
from keras_encoder.checkpoints.config import config_path, read_config
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    encoder_tensors,
    load_encoder_tensors,
    make_encoder,
)
from keras_encoder.tokenizer import Tokenizer
from keras_encoder.tokenizer_files import SPECIAL_TOKENS

# Arguments that KerasHub's BertBackbone and our Encoder call the same.
CONFIG = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "hidden_dim",
    "intermediate_dim",
    "dropout",
    "max_sequence_length",
    "num_segments",
)
FIXED = {
    "activation": "gelu_tanh",
    "layer_norm_epsilon": 1e-12,
    "norm_first": False,
    "positions": "learned",
    "norm": "layer_norm",
}
VOCABULARY = "assets/tokenizer/vocabulary.txt"


def is_in(folder):
    """Whether a folder's `config.json` is that of a KerasHub preset."""
    path = pathlib.Path(folder) / "config.json"
    return path.exists() and "registered_name" in read_config(folder)


def load_encoder(folder, **overrides):
    """Makes an `Encoder` from a preset folder and loads its weights.

    Presets of tasks keep their backbone in the same file, so they load too,
    without their head.

    Args:
        folder: path with `config.json` and `model.weights.h5`, or shards and
            their `model.weights.json`.
        **overrides: arguments of `Encoder` that win over `config.json`.

    Returns:
        The encoder and a `LoadReport`.

    Raises:
        CheckpointError: if the preset is no BertBackbone, or as
            `huggingface.load_encoder`.
    """
    source = config_path(folder)
    config = _config(read_config(folder), "BertBackbone", source)
    missing = [name for name in CONFIG if name not in config]
    if missing:
        raise CheckpointError(f"{source}: missing {', '.join(missing)}.")
    arguments = {name: config[name] for name in CONFIG}
    arguments.update(FIXED, attention_dropout=config["dropout"])
    encoder = make_encoder({**arguments, **overrides}, source)
    with keras_hub_files.open_tensors(
        folder, encoder.num_layers, encoder.num_heads
    ) as tensors:
        return encoder, load_encoder_tensors(encoder, tensors, str(folder))


def load_tokenizer(folder):
    """Reads `tokenizer.json` and the vocabulary of a preset folder.

    Raises:
        CheckpointError: if they are absent, damaged or not BERT's.
    """
    folder = pathlib.Path(folder)
    path = folder / "tokenizer.json"
    try:
        config = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path}: expected the config of a BertTokenizer ({error})."
        ) from error
    config = _config(config, "BertTokenizer", path)
    return Tokenizer.from_vocabulary(
        folder / VOCABULARY,
        lowercase=bool(config.get("lowercase", False)),
        strip_accents=bool(config.get("strip_accents", False)),
    )


@contextlib.contextmanager
def open_preset(name):
    """Yields the path of a preset that KerasHub finds, as a folder.

    Args:
        name: what `keras_hub.models.BertBackbone.from_preset` takes, such as
            `"bert_tiny_en_uncased"`.

    Raises:
        CheckpointError: if KerasHub is not installed or does not find it.
    """
    try:
        import keras_hub
    except ImportError as error:
        raise CheckpointError(
            f"keras_hub:{name} needs KerasHub: "
            'pip install "keras-encoder[keras-nlp]"'
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        try:
            models = keras_hub.models
            models.BertBackbone.from_preset(name).save_to_preset(folder)
            models.BertTokenizer.from_preset(name).save_to_preset(folder)
        except Exception as error:  # network, names, files: many classes
            raise CheckpointError(
                f"keras_hub:{name} cannot be loaded by KerasHub ({error})."
            ) from error
        yield pathlib.Path(folder)


def save_keras_hub(encoder, tokenizer, folder):
    """Writes a preset folder for `keras_hub.models.BertBackbone.from_preset`.

    Args:
        encoder: `Encoder` with `activation="gelu_tanh"` and post-norm.
        tokenizer: `Tokenizer`, or None to write the encoder alone.
        folder: path; made if it does not exist.

    Raises:
        CheckpointError: if KerasHub's BERT would compute something else.
    """
    for name, expected in FIXED.items():
        found = getattr(encoder, name)
        if found != expected:
            raise CheckpointError(
                f"KerasHub's BERT has {name}={expected!r} and no other; this "
                f"encoder has {name}={found!r}. Save it as a Hugging Face "
                "folder."
            )
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if tokenizer is not None:
        _save_tokenizer(tokenizer, folder)
    config = {name: getattr(encoder, name) for name in CONFIG}
    _write_object(folder / "config.json", "BertBackbone", config)
    keras_hub_files.save_tensors(
        encoder_tensors(encoder), folder, encoder.num_layers, encoder.num_heads
    )
    size = sum(int(np.prod(weight.shape)) for weight in encoder.weights)
    _write_json(folder / "metadata.json", {"parameter_count": size})


def _config(config, class_name, source):
    """The inner config of a serialised Keras object of a given class."""
    found = config.get("class_name") if isinstance(config, dict) else None
    if found != class_name or not isinstance(config.get("config"), dict):
        raise CheckpointError(
            f"{source}: expected KerasHub's {class_name}, found {found!r}."
        )
    return config["config"]


def _save_tokenizer(tokenizer, folder):
    special = tokenizer.special_tokens
    normalizer = tokenizer.backend.normalizer
    if special != SPECIAL_TOKENS or not hasattr(normalizer, "lowercase"):
        raise CheckpointError(
            "KerasHub's BertTokenizer has BERT's normalisation and the special "
            f"tokens {', '.join(SPECIAL_TOKENS.values())}; this tokenizer has "
            f"{type(normalizer).__name__} and {', '.join(special.values())}."
        )
    strip_accents = normalizer.strip_accents
    if strip_accents is None:
        strip_accents = normalizer.lowercase
    config = {
        "name": "bert_tokenizer",
        "dtype": "int32",
        "lowercase": normalizer.lowercase,
        "strip_accents": strip_accents,
    }
    _write_object(folder / "tokenizer.json", "BertTokenizer", config)
    (folder / VOCABULARY).parent.mkdir(parents=True, exist_ok=True)
    tokens = {i: token for token, i in tokenizer.backend.get_vocab().items()}
    lines = [tokens.get(i, "") for i in range(tokenizer.vocabulary_size)]
    text = "".join(line + "\n" for line in lines)
    (folder / VOCABULARY).write_bytes(text.encode("utf-8"))


def _write_object(path, class_name, config):
    module = {
        "BertBackbone": "bert_backbone",
        "BertTokenizer": "bert_tokenizer",
    }
    _write_json(
        path,
        {
            "module": f"keras_hub.src.models.bert.{module[class_name]}",
            "class_name": class_name,
            "config": config,
            "registered_name": f"keras_hub>{class_name}",
        },
    )


def _write_json(path, content):
    path.write_text(json.dumps(content, indent=4) + "\n", encoding="utf-8")
