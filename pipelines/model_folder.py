"""A fine-tuned model is one folder, which transformers can open too."""

import csv
import dataclasses
import json
import pathlib

import keras
import yaml

import keras_encoder
from keras_encoder.checkpoints.config import read_config
from keras_encoder.checkpoints.huggingface_heads import (
    load_classifier,
    save_classifier,
)
from keras_encoder.tokenizer import Tokenizer
from pipelines.errors import InputError
from pipelines.model_card import model_card
from pipelines.outputs import SETTINGS, new_folder


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """What a model folder holds for use.

    Attributes:
        model: `SequenceClassifier`.
        tokenizer: `Tokenizer`.
        labels: names in the order of the logits.
        settings: the content of `keras_encoder.json`: `task`, `problem`,
            `max_length`, `thresholds` ...
    """

    model: keras.Model
    tokenizer: Tokenizer
    labels: tuple[str, ...]
    settings: dict


def write_model_folder(
    path: pathlib.Path, fine_tuned: FineTuned, metrics: dict, options
):
    """Writes weights, tokenizer, settings, metrics, history and model card.

    Args:
        path: the folder; an older model there is replaced.
        fine_tuned: the model and what belongs to it.
        metrics: the content of `metrics.json`; each of its `stages` has a
            `history`.
        options: the dataclass of the recipe, written as `options.yaml`.
    """
    settings = {
        "format": 1,
        **fine_tuned.settings,
        "versions": {
            "keras_encoder": keras_encoder.__version__,
            "keras": keras.__version__,
            "backend": keras.backend.backend(),
        },
    }
    with new_folder(path) as folder:
        save_classifier(
            fine_tuned.model,
            fine_tuned.labels,
            folder,
            problem_type=_PROBLEM_TYPES[settings["problem"]],
        )
        fine_tuned.tokenizer.save(folder, max_length=settings["max_length"])
        _write_json(folder / SETTINGS, settings)
        _write_json(folder / "metrics.json", metrics)
        _write_history(folder / "history.csv", metrics["stages"])
        given = dataclasses.asdict(options)
        text = yaml.safe_dump(given, sort_keys=False, allow_unicode=True)
        (folder / "options.yaml").write_text(text, encoding="utf-8")
        card = model_card(metrics, settings, given)
        (folder / "README.md").write_text(card, encoding="utf-8")


def read_model_folder(path: str) -> FineTuned:
    """Opens a model folder, or a classifier that transformers wrote.

    Raises:
        InputError: if the folder is absent.
        CheckpointError: if its content is damaged.
    """
    folder = pathlib.Path(path)
    if not folder.is_dir():
        raise InputError(f"--model {path}: no such folder.")
    settings = {}
    if (folder / SETTINGS).exists():
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    model, labels, _ = load_classifier(folder)
    config = read_config(folder)
    names = {theirs: ours for ours, theirs in _PROBLEM_TYPES.items()}
    default = "regression" if len(labels) == 1 else "single_label"
    settings = {
        "task": "classify",
        "problem": names.get(config.get("problem_type"), default),
        "max_length": model.encoder.max_sequence_length,
        **settings,
    }
    return FineTuned(model, Tokenizer.from_folder(folder), labels, settings)


# Ours -> Hugging Face's `problem_type`.
_PROBLEM_TYPES = {
    "single_label": "single_label_classification",
    "multi_label": "multi_label_classification",
    "regression": "regression",
}


def _write_json(path, content):
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _write_history(path, stages):
    rows = [
        {
            "stage": stage["name"],
            **{k: v for k, v in row.items() if isinstance(v, int | float)},
        }
        for stage in stages
        for row in stage["history"]
    ]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
