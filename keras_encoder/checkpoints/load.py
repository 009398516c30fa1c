"""One way in for every encoder, whatever wrote it."""

import contextlib
import dataclasses
import math
import os

from keras_encoder.checkpoints import (
    distilbert,
    huggingface,
    keras_hub,
    tensorflow,
)
from keras_encoder.checkpoints.config import (
    DEFAULTS,
    NAMES,
    OWN_MODEL_TYPE,
    config_path,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.checkpoints.report import LoadReport
from keras_encoder.encoder import Encoder
from keras_encoder.presets import PRESETS, preset_config
from keras_encoder.tokenizer import Tokenizer

KERAS_HUB = "keras_hub:"
# Whether a folder is of a format, its encoder and its tokenizer; the first
# format that says yes reads the folder.
FORMATS = (
    (keras_hub.is_in, keras_hub.load_encoder, keras_hub.load_tokenizer),
    (tensorflow.is_in, tensorflow.load_encoder, tensorflow.load_tokenizer),
    (distilbert.is_in, distilbert.load_encoder, Tokenizer.from_folder),
    (lambda folder: True, huggingface.load_encoder, Tokenizer.from_folder),
)


def load_encoder(spec, **overrides):
    """Loads an encoder and its tokenizer from wherever it is.

    Args:
        spec: a size such as `"bert-base"` (random weights), `"minilm-l6"`, the
            path of a folder (Hugging Face, TensorFlow 1, KerasHub or a model
            folder of this project), `"hf://ORG/NAME"` or `"keras_hub:NAME"`.
        **overrides: arguments of `Encoder` that win over the checkpoint's,
            such as `dropout` or `dtype`.

    Returns:
        The `Encoder`, its `Tokenizer` (None for a size, which has no
        vocabulary) and a `LoadReport`.

    Raises:
        CheckpointError: if there is no such encoder, or it is damaged.
    """
    return _load(spec, overrides, with_tokenizer=True)


def load_encoder_only(spec, **overrides):
    """Like `load_encoder`, of a folder that may have no vocabulary.

    Returns:
        The `Encoder` and a `LoadReport`.
    """
    encoder, _, report = _load(spec, overrides, with_tokenizer=False)
    return encoder, report


def load_tokenizer(spec):
    """The tokenizer alone, without reading a weight.

    Args:
        spec: as for `load_encoder`.

    Returns:
        A `Tokenizer`, or None for a size.
    """
    spec = os.fspath(spec)
    if spec in PRESETS:
        return None
    with _open_folder(spec) as folder:
        return next(each[2] for each in FORMATS if each[0](folder))(folder)


def longest_input(spec):
    """The most tokens that an encoder reads, without reading a weight.

    Args:
        spec: as for `load_encoder`.

    Returns:
        int, or `math.inf` where positions have no end or no config tells.
    """
    spec = os.fspath(spec)
    if spec in PRESETS:
        return _longest_input(preset_config(spec))
    with _open_folder(spec) as folder:
        if not config_path(folder).exists():
            return math.inf
        config = read_config(folder)
    inner = config.get("config")  # KerasHub's objects have one
    return _longest_input(inner if isinstance(inner, dict) else config)


def _longest_input(config):
    is_own = config.get("model_type", OWN_MODEL_TYPE) == OWN_MODEL_TYPE
    if is_own and config.get("positions", "learned") != "learned":
        return math.inf
    name = NAMES["max_sequence_length"]
    found = config.get("max_sequence_length", config.get(name, DEFAULTS[name]))
    return found if isinstance(found, int) else math.inf


def _load(spec, overrides, with_tokenizer):
    spec = os.fspath(spec)
    if spec in PRESETS:
        encoder = Encoder(**{**preset_config(spec), **overrides})
        return encoder, None, _nothing_loaded(encoder, spec)
    with _open_folder(spec) as folder:
        _, read_encoder, read_tokenizer = next(
            each for each in FORMATS if each[0](folder)
        )
        encoder, report = read_encoder(folder, **overrides)
        tokenizer = read_tokenizer(folder) if with_tokenizer else None
    if tokenizer is not None:
        _check_vocabulary(encoder, tokenizer, spec)
    return encoder, tokenizer, dataclasses.replace(report, source=spec)


def _check_vocabulary(encoder, tokenizer, spec):
    """Raises if a token has no embedding; JAX would read NaN for it."""
    if tokenizer.vocabulary_size > encoder.vocabulary_size:
        raise CheckpointError(
            f"{spec}: the tokenizer has {tokenizer.vocabulary_size} ids, the "
            f"encoder embeddings for {encoder.vocabulary_size}. They belong "
            "to different models."
        )


def _open_folder(spec):
    """A context manager that yields the folder of an encoder."""
    if spec.startswith(KERAS_HUB):
        return keras_hub.open_preset(spec.removeprefix(KERAS_HUB))
    return contextlib.nullcontext(find_folder(spec))


def _nothing_loaded(encoder, spec):
    names = (path for path, _ in huggingface.encoder_variables(encoder))
    missing = tuple(map(huggingface.encoder_tensor_name, names))
    return LoadReport(source=spec, matched=(), missing=missing)
