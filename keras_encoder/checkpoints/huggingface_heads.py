"""Hugging Face folders with a task head: classifiers and taggers."""

import dataclasses
import json
import pathlib

from keras_encoder.checkpoints.config import (
    config_path,
    encoder_arguments,
    huggingface_config,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    assign,
    encoder_tensors,
    load_encoder_tensors,
    make_encoder,
    open_folder_tensors,
    plain_names,
    save_tensors,
    to_array,
)
from keras_encoder.heads import SequenceClassifier, TokenTagger

# Our head -> Hugging Face's.
ARCHITECTURES = {
    SequenceClassifier: "BertForSequenceClassification",
    TokenTagger: "BertForTokenClassification",
}
# Variable of the head's `logits` -> name of the tensor.
HEAD = {"kernel": "classifier.weight", "bias": "classifier.bias"}
PROBLEM_TYPES = (
    "single_label_classification",
    "multi_label_classification",
    "regression",
)


def load_classifier(folder, **overrides):
    """Loads a `BertForSequenceClassification` with its head and labels.

    Args:
        folder: path of a folder that transformers or `save_classifier` wrote.
        **overrides: arguments of `Encoder` that win over `config.json`.

    Returns:
        The `SequenceClassifier`, a tuple of its labels in the order of the
        logits, and a `LoadReport`.

    Raises:
        CheckpointError: if a tensor is missing or has another shape, or
            `id2label` does not name each of the head's classes.
    """
    return _load(SequenceClassifier, folder, overrides)


def load_tagger(folder, **overrides):
    """Loads a `BertForTokenClassification` with its head and labels.

    Such files have no pooler; a tagger does not use it.

    Args:
        folder: path of a folder that transformers or `save_tagger` wrote.
        **overrides: arguments of `Encoder` that win over `config.json`.

    Returns:
        The `TokenTagger`, a tuple of its tags in the order of the logits,
        and a `LoadReport`.

    Raises:
        CheckpointError: as `load_classifier`.
    """
    return _load(TokenTagger, folder, overrides)


def save_classifier(model, labels, folder, problem_type):
    """Writes `config.json` and `model.safetensors`, as transformers does.

    Args:
        model: `SequenceClassifier`.
        labels: sequence of str, one for each logit.
        folder: path; made if it does not exist.
        problem_type: `"single_label_classification"`,
            `"multi_label_classification"` or `"regression"`.

    Raises:
        CheckpointError: if the labels are not as many as the logits, or two
            are the same.
        ValueError: for another problem type.
    """
    if problem_type not in PROBLEM_TYPES:
        raise ValueError(
            f"`problem_type` must be one of {PROBLEM_TYPES}. Received: "
            f"problem_type={problem_type!r}"
        )
    _save(model, labels, folder, pooler=True, problem_type=problem_type)


def save_tagger(model, labels, folder):
    """Writes `config.json` and `model.safetensors`, as transformers does.

    The pooler is left out: a tagger has no use for it.

    Args:
        model: `TokenTagger`.
        labels: sequence of str, the tags, one for each logit.
        folder: path; made if it does not exist.

    Raises:
        CheckpointError: if the labels are not as many as the logits, or two
            are the same.
    """
    _save(model, labels, folder, pooler=False)


def _load(head, folder, overrides):
    source = config_path(folder)
    config = read_config(folder)
    _check_architecture(config, head, source)
    arguments = {**encoder_arguments(config, source), **overrides}
    with open_folder_tensors(folder) as tensors:
        tensors = plain_names(tensors, str(folder))
        _check_head(tensors, head, folder)
        width = tensors[HEAD["bias"]]().size
        labels = _labels(config, width, source)
        encoder = make_encoder(arguments, source)
        report = load_encoder_tensors(encoder, tensors, str(folder))
        dropout = config.get("classifier_dropout")
        if dropout is None:
            dropout = encoder.dropout
        model = head(encoder, width, dropout=dropout)
        for variable in model.logits.weights:
            name = HEAD[variable.name]
            assign(variable, tensors[name](), name, str(folder))
    return model, labels, _with_head(report)


def _check_architecture(config, head, source):
    """Raises unless the config names this head, or none at all."""
    expected = (ARCHITECTURES[head], head.__name__)
    found = config.get("architectures") or expected
    if not set(expected) & set(found):
        raise CheckpointError(
            f"{source}: expected the architecture {expected[0]}, found "
            f"{', '.join(map(str, found))}. Load it as an encoder and train "
            "a head."
        )


def _check_head(tensors, head, folder):
    """Raises if a tensor that the trained head reads is missing."""
    needed = list(HEAD.values())
    if head is SequenceClassifier:
        needed += ["pooler.dense.weight", "pooler.dense.bias"]
    for name in needed:
        if name not in tensors:
            raise CheckpointError(
                f"{folder}: the tensor {name!r} of {ARCHITECTURES[head]} is "
                "missing. Load the folder as an encoder and train a head."
            )


def _labels(config, width, source):
    """The labels by id; `LABEL_0` and so on where the config names none."""
    id2label = config.get("id2label")
    if id2label is None:
        return tuple(f"LABEL_{i}" for i in range(width))
    keys = {str(i) for i in range(width)}
    if not isinstance(id2label, dict) or {*map(str, id2label)} != keys:
        found = len(id2label) if isinstance(id2label, dict) else id2label
        raise CheckpointError(
            f"{source}: id2label must name the ids 0 to {width - 1}, one for "
            f"each row of {HEAD['kernel']!r}; found {found} labels."
        )
    by_id = {int(i): str(label) for i, label in id2label.items()}
    return tuple(by_id[i] for i in range(width))


def _with_head(report):
    """The encoder's report, with the head's tensors among the matched."""
    names = set(HEAD.values())
    return dataclasses.replace(
        report,
        matched=(*report.matched, *HEAD.values()),
        unexpected=tuple(n for n in report.unexpected if n not in names),
    )


def _save(model, labels, folder, pooler, **settings):
    labels = [str(label) for label in labels]
    if len(labels) != model.num_classes or len({*labels}) != len(labels):
        raise CheckpointError(
            f"{folder}: expected {model.num_classes} different labels, one "
            f"for each logit, found {len(labels)}: {labels}."
        )
    config = huggingface_config(model.encoder)
    name = ARCHITECTURES[type(model)]
    if config["model_type"] != "bert":
        name = type(model).__name__
    config.update(
        architectures=[name],
        classifier_dropout=model.dropout,
        id2label={str(i): label for i, label in enumerate(labels)},
        label2id={label: i for i, label in enumerate(labels)},
        **settings,
    )
    tensors = encoder_tensors(model.encoder, prefix="bert.", pooler=pooler)
    for variable in model.logits.weights:
        tensors[HEAD[variable.name]] = to_array(variable)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
    save_tensors(tensors, folder)
