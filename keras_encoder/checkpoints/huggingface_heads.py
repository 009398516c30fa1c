"""Hugging Face folders with a task head: one loader and writer for all.

What a head is called there, and the names of its tensors, stand in the head.
"""

import contextlib
import dataclasses
import json
import os
import pathlib

import numpy as np

from keras_encoder import heads
from keras_encoder.checkpoints import distilbert, tensorflow
from keras_encoder.checkpoints.config import (
    config_path,
    huggingface_config,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    assign,
    encoder_tensors,
    open_folder_tensors,
    plain_names,
    save_tensors,
    to_array,
)
from keras_encoder.checkpoints.load import load_encoder_only
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.heads import SequenceClassifier, TokenTagger
from keras_encoder.layers.crf import CRF

# Every head that has a name in transformers.
HEADS = tuple(
    head for head in vars(heads).values() if hasattr(head, "architecture")
)
# Copies of a tensor that some files have -> the one that is ours.
TIED = {
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
PROBLEM_TYPES = (
    "single_label_classification",
    "multi_label_classification",
    "regression",
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
        tensors = _untied(tensors, model, folder)
        _check(tensors, model.tensors(), head, folder)
        for name, variable in model.tensors().items():
            assign(variable, tensors[name](), name, str(folder))
    return model, labels, _with_head(report, model.tensors())


def load_classifier(folder, **overrides):
    """`load_head` of a `BertForSequenceClassification`."""
    return load_head(folder, SequenceClassifier, **overrides)


def load_tagger(folder, **overrides):
    """`load_head` of a `BertForTokenClassification`.

    Such files have no pooler; a tagger does not use it. The tagger has its
    CRF if one was saved.
    """
    return load_head(folder, TokenTagger, **overrides)


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
        tensors = _untied(tensors, model, folder)
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
            yield {distilbert.tensor_name(n): tensors[n] for n in tensors}
        else:
            yield plain_names(tensors, str(folder))


def save_head(model, folder, labels=(), **settings):
    """Writes `config.json` and `model.safetensors`, as transformers does.

    A pooler that the head does not read is left out.

    Args:
        model: from `keras_encoder.heads`.
        folder: path; made if it does not exist.
        labels: sequence of str, one for each logit of a classifier or tagger.
        **settings: more entries of `config.json`.

    Raises:
        CheckpointError: if the labels are not as many as the logits, or two
            are the same.
    """
    config = huggingface_config(model.encoder)
    is_bert = config["model_type"] == "bert"
    name = model.architecture if is_bert else type(model).__name__
    config.update(architectures=[name], **settings)
    if hasattr(model, "num_classes"):
        labels = _checked(labels, model.num_classes, folder)
        config.update(
            classifier_dropout=model.dropout,
            id2label={str(i): label for i, label in enumerate(labels)},
            label2id={label: i for i, label in enumerate(labels)},
        )
    tensors = encoder_tensors(
        model.encoder, prefix="bert.", pooler=model.reads_pooler
    )
    for name, variable in model.tensors().items():
        tensors[name] = to_array(variable)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
    save_tensors(tensors, folder)


def save_classifier(model, labels, folder, problem_type):
    """`save_head` of a `SequenceClassifier`.

    Args:
        model: `SequenceClassifier`.
        labels, folder: as in `save_head`.
        problem_type: `"single_label_classification"`,
            `"multi_label_classification"` or `"regression"`.

    Raises:
        ValueError: for another problem type.
    """
    if problem_type not in PROBLEM_TYPES:
        raise ValueError(
            f"`problem_type` must be one of {PROBLEM_TYPES}. Received: "
            f"problem_type={problem_type!r}"
        )
    save_head(model, folder, labels, problem_type=problem_type)


def save_tagger(model, labels, folder):
    """`save_head` of a `TokenTagger`.

    The scores of a CRF are tensors of their own, which transformers has no
    use for and names.
    """
    save_head(model, folder, labels)


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


def _untied(tensors, model, folder):
    """The tensors without copies; a copy stands in for what is missing."""
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
    return tuple(by_id[i] for i in range(width))


def _checked(labels, width, folder):
    labels = [str(label) for label in labels]
    if len(labels) != width or len({*labels}) != len(labels):
        raise CheckpointError(
            f"{folder}: expected {width} different labels, one for each "
            f"logit, found {len(labels)}: {labels}."
        )
    return labels


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
