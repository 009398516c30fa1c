"""Hugging Face folders with a task head: one loader for all heads.

What a head is called there, and the names of its tensors, stand in the head.
"""

import dataclasses
import os

from keras_encoder import heads
from keras_encoder.checkpoints.config import (
    config_path,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.head_tensors import (
    TIED,
    open_named_tensors,
    untied,
)
from keras_encoder.checkpoints.huggingface import (
    assign,
)
from keras_encoder.checkpoints.load import load_encoder_only
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.heads import TokenTagger
from keras_encoder.layers.crf import CRF

# Every head that has a name in transformers.
HEADS = tuple(
    head for head in vars(heads).values() if hasattr(head, "architecture")
)


def head_of(folder):
    """The head class that a folder's config names, or None.

    Args:
        folder: path with `config.json`.
    """
    found = {*map(str, read_config(folder).get("architectures") or ())}
    for head in HEADS:
        if found & {head.architecture, head.__name__}:
            return head
    return next((head for head in HEADS if found & _names(head)), None)


def load_head(folder, head, **overrides):
    """Loads a model with its head, and its labels if it has any.

    Args:
        folder: path of a folder that transformers or `save_head` wrote, or
            of a TensorFlow 1 release; or `"hf://ORG/NAME"`.
        head: class from `keras_encoder.heads`. Its encoder's architecture
            may be that of another head which holds it, as
            `BertForPreTraining` holds a `MaskedLM`.
        **overrides: arguments of `Encoder` that win over `config.json`.

    Returns:
        The model, a tuple of its labels in the order of the logits (empty
        where the head has none), and a `LoadReport`.

    Raises:
        CheckpointError: if a tensor is missing or has another shape, the
            config names another architecture, `id2label` does not name each
            of the head's classes, or a decoder is not tied to the embeddings.
    """
    folder = find_folder(os.fspath(folder))
    config, source = read_config(folder), config_path(folder)
    _check_architecture(config, head, source)
    labels, arguments = (), {}
    with open_named_tensors(folder) as tensors:
        name = getattr(head, "labels_tensor", None)
        if name is not None:
            _check(tensors, [name], head, folder)
            width = tensors[name]().size
            labels = _labels(config, width, name, source)
            arguments["num_classes"] = width
            if head is TokenTagger and any(
                n.startswith("crf.") for n in tensors
            ):
                arguments["crf"] = CRF(width)
    encoder, report = load_encoder_only(folder, **overrides)
    if head.reads_pooler:
        _check(report.matched, report.missing, head, folder)
    if labels:
        dropout = config.get("classifier_dropout")
        arguments["dropout"] = encoder.dropout if dropout is None else dropout
    model = head(encoder, **arguments)
    with open_named_tensors(folder) as tensors:
        tensors = untied(tensors, model, folder)
        _check(tensors, model.tensors(), head, folder)
        for name, variable in model.tensors().items():
            assign(variable, tensors[name](), name, str(folder))
    return model, labels, _with_head(report, model.tensors())


def restore_head(model, folder):
    """Loads those parts of a model's head that a folder has.

    Args:
        model: from `keras_encoder.heads`, of the folder's sizes.
        folder: as in `load_head`.

    Returns:
        Tuple of the names of the tensors that were loaded.

    Raises:
        CheckpointError: if a part is there, but not all of its tensors, or
            one has another shape.
    """
    folder = find_folder(os.fspath(folder))
    with open_named_tensors(folder) as tensors:
        tensors = untied(tensors, model, folder)
        parts = {_part(name) for name in tensors}
        found = {
            name: variable
            for name, variable in model.tensors().items()
            if _part(name) in parts
        }
        _check(tensors, found, type(model), folder)
        for name, variable in found.items():
            assign(variable, tensors[name](), name, str(folder))
    return tuple(found)


def _names(head):
    """The architectures that hold all tensors of a head."""
    return {
        head.architecture,
        head.__name__,
        *getattr(head, "also_in", ()),
    }


def _check_architecture(config, head, source):
    """Raises unless the config names this head, or none at all."""
    found = config.get("architectures")
    if found and not _names(head) & {*map(str, found)}:
        raise CheckpointError(
            f"{source}: expected the architecture {head.architecture}, found "
            f"{', '.join(map(str, found))}. Load it as an encoder and train "
            "a head."
        )


def _check(tensors, needed, head, folder):
    """Raises if a tensor that the trained head reads is missing."""
    for name in needed:
        if name not in tensors:
            raise CheckpointError(
                f"{folder}: the tensor {name!r} of {head.architecture} is "
                "missing. Load the folder as an encoder and train a head."
            )


def _part(name):
    """`cls.predictions` of all tensors that belong together."""
    return ".".join(name.split(".")[:2])


def _labels(config, width, name, source):
    """The labels by id; `LABEL_0` and so on where the config names none."""
    id2label = config.get("id2label")
    if id2label is None:
        return tuple(f"LABEL_{i}" for i in range(width))
    keys = {str(i) for i in range(width)}
    if not isinstance(id2label, dict) or {*map(str, id2label)} != keys:
        found = len(id2label) if isinstance(id2label, dict) else id2label
        raise CheckpointError(
            f"{source}: id2label must name the ids 0 to {width - 1}, one for "
            f"each number of {name!r}; found {found} labels."
        )
    by_id = {int(i): str(label) for i, label in id2label.items()}
    if len(set(by_id.values())) < width:
        raise CheckpointError(
            f"{source}: id2label must name each label once; found "
            f"{', '.join(map(repr, by_id.values()))}."
        )
    return tuple(by_id[i] for i in range(width))


def _with_head(report, names):
    """The encoder's report, with the head's tensors among the matched."""
    return dataclasses.replace(
        report,
        matched=(*report.matched, *names),
        unexpected=tuple(
            name
            for name in report.unexpected
            if name not in names and name not in TIED
        ),
    )
