"""Writes a model with its head as a Hugging Face folder."""

import json
import pathlib

from keras_encoder.checkpoints.config import huggingface_config
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    encoder_tensors,
    save_tensors,
    to_array,
)

PROBLEM_TYPES = (
    "single_label_classification",
    "multi_label_classification",
    "regression",
)


def save_head(model, folder, labels=(), problem_type=None):
    """Writes `config.json` and `model.safetensors`, as transformers does.

    A pooler that the head does not read is left out.

    Args:
        model: from `keras_encoder.heads`.
        folder: path; made if it does not exist.
        labels: sequence of str, one for each logit of a classifier or tagger.
        problem_type: of a `SequenceClassifier`:
            `"single_label_classification"`, `"multi_label_classification"`
            or `"regression"`.

    Raises:
        CheckpointError: if the labels are not as many as the logits, or two
            are the same.
        ValueError: for another problem type.
    """
    if problem_type not in (None, *PROBLEM_TYPES):
        raise ValueError(
            f"`problem_type` must be one of {PROBLEM_TYPES}. Received: "
            f"problem_type={problem_type!r}"
        )
    config = huggingface_config(model.encoder)
    is_bert = config["model_type"] == "bert"
    name = model.architecture if is_bert else type(model).__name__
    config["architectures"] = [name]
    if problem_type is not None:
        config["problem_type"] = problem_type
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


def _checked(labels, width, folder):
    labels = [str(label) for label in labels]
    if len(labels) != width or len({*labels}) != len(labels):
        raise CheckpointError(
            f"{folder}: expected {width} different labels, one for each "
            f"logit, found {len(labels)}: {labels}."
        )
    return labels
