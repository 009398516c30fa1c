"""A fine-tuned model is one folder, which transformers can open too."""

import csv
import dataclasses
import json
import math
import pathlib
import traceback
import warnings

import keras
import yaml

import keras_encoder
from keras_encoder.checkpoints.config import read_config
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.load_heads import (
    head_of,
    load_head,
)
from keras_encoder.checkpoints.save_heads import save_head
from keras_encoder.heads import (
    MaskedLM,
    Pretraining,
    SequenceClassifier,
    TokenTagger,
)
from keras_encoder.tokenizer import Tokenizer
from pipelines.errors import InputError
from pipelines.options import options_to_save
from pipelines.outputs import SETTINGS, new_folder
from pipelines.reports.model_card import model_card
from pipelines.reports.outcome import Outcome
from pipelines.reports.report_html import report_page
from pipelines.tagging.schemes import scheme_of_labels


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """What a model folder holds for use.

    Attributes:
        model: `SequenceClassifier`, `TokenTagger`, `MaskedLM` or
            `Pretraining`.
        tokenizer: `Tokenizer`.
        labels: names in the order of the logits; empty where these are
            tokens.
        settings: the content of `keras_encoder.json`: `task`, `max_length`;
            of a classifier `problem`, `thresholds`, `allow_empty`,
            `abstain_below`, `windows` and `stride`; of a tagger `scheme`,
            `stride`, `document_context`, `constrained`, and `words`: how a raw
            text is cut into words.
    """

    model: keras.Model
    tokenizer: Tokenizer
    labels: tuple[str, ...]
    settings: dict


def write_model_folder(
    path: pathlib.Path,
    fine_tuned: FineTuned,
    metrics: dict,
    options,
    outcome: Outcome | None = None,
):
    """Writes weights, tokenizer, settings, metrics, history, report and card.

    Args:
        path: the folder; an older model there is replaced.
        fine_tuned: the model and what belongs to it.
        metrics: the content of `metrics.json`; each of its `stages` has a
            `history`; a `learning_curve` is written as a table, too.
        options: the dataclass of the recipe, written as `options.yaml`.
        outcome: what the model answered, for the report.
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
        _save_weights(fine_tuned, folder)
        fine_tuned.tokenizer.save(folder, max_length=settings["max_length"])
        _write_json(folder / SETTINGS, settings)
        _write_json(folder / "metrics.json", metrics)
        _write_history(folder / "history.csv", metrics["stages"])
        if curve := metrics.get("learning_curve"):
            _write_csv(folder / "learning_curve.csv", curve)
        given = options_to_save(options)
        text = yaml.safe_dump(given, sort_keys=False, allow_unicode=True)
        (folder / "options.yaml").write_text(text, encoding="utf-8")
        is_bert = read_config(folder)["model_type"] == "bert"
        card = model_card(metrics, settings, options, is_bert)
        (folder / "README.md").write_text(card, encoding="utf-8")
        _write_report(
            folder / "report.html", metrics, settings, options, outcome
        )


def read_model_folder(path: str) -> FineTuned:
    """Opens a model folder, ours or one that transformers wrote.

    Raises:
        InputError: if the folder is absent or holds another kind of model.
        CheckpointError: if its content is damaged.
    """
    folder = pathlib.Path(path)
    if not folder.is_dir():
        raise InputError(
            f"--model {path}: no such folder; expected one that classify, tag "
            "or pretrain wrote."
        )
    settings = _read_settings(folder / SETTINGS)
    config = read_config(folder)
    head = head_of(folder) or SequenceClassifier
    if head is Pretraining:  # the half that `predict` has a use for
        head = MaskedLM
    if head not in TASKS:
        raise InputError(
            f"--model {path}: expected a classifier, a tagger or a masked LM, "
            f"found a {head.architecture}."
        )
    model, labels, _ = load_head(folder, head)
    defaults = TASKS[head](config, labels)
    usual = {**defaults, "max_length": model.encoder.max_sequence_length}
    settings = {**usual, **settings}
    length, longest = settings["max_length"], model.encoder.longest_input
    if not isinstance(length, int) or not 3 <= length <= longest:
        expected = f"3 to {longest}" if longest < math.inf else "3 or more"
        raise CheckpointError(
            f"{folder / SETTINGS}: expected max_length to be {expected}, "
            f"found {length!r}."
        )
    tokenizer = Tokenizer.from_folder(folder)
    return FineTuned(model, tokenizer, labels, settings)


def _read_settings(path):
    """Content of `keras_encoder.json`; {} where transformers wrote a folder."""
    if not path.exists():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise CheckpointError(f"{path}: expected JSON ({error}).") from error
    if not isinstance(settings, dict):
        raise CheckpointError(f"{path}: expected a JSON object.")
    return settings


# Ours -> Hugging Face's `problem_type`.
_PROBLEM_TYPES = {
    "single_label": "single_label_classification",
    "multi_label": "multi_label_classification",
    "regression": "regression",
}


def _classifier_defaults(config, labels):
    """Settings of a classifier that transformers wrote."""
    ours = {theirs: ours for ours, theirs in _PROBLEM_TYPES.items()}
    default = "regression" if len(labels) == 1 else "single_label"
    problem = ours.get(config.get("problem_type"), default)
    return {"task": "classify", "problem": problem}


def _tagger_defaults(config, labels):
    """Settings of a tagger that transformers wrote."""
    return {
        "task": "tag",
        "scheme": scheme_of_labels(labels),
        "words": "tokenizer",
        "stride": None,
        "document_context": False,
        "constrained": True,
    }


def _masked_lm_defaults(config, labels):
    """Settings of a masked LM that transformers wrote."""
    return {"task": "pretrain"}


# Head -> settings of a folder without ours, from its config and labels.
TASKS = {
    SequenceClassifier: _classifier_defaults,
    TokenTagger: _tagger_defaults,
    MaskedLM: _masked_lm_defaults,
}


def _save_weights(fine_tuned, folder):
    problem = fine_tuned.settings.get("problem")
    save_head(
        fine_tuned.model,
        folder,
        fine_tuned.labels,
        problem_type=problem and _PROBLEM_TYPES[problem],
    )


def _write_json(path, content):
    content = _finite(content)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def _finite(content):
    """JSON has no NaN: the loss of an epoch that diverged becomes null."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    is_number = not isinstance(content, float) or math.isfinite(content)
    return content if is_number else None


def _write_report(path, metrics, settings, options, outcome):
    """A fault in here must not cost the hours that the model took."""
    try:
        page = report_page(metrics, settings, options, outcome)
        path.write_text(page, encoding="utf-8")
    except Exception:
        warnings.warn(
            f"{path.name} is missing, the model is whole. Please report this "
            f"fault:\n{traceback.format_exc()}",
            stacklevel=2,
        )


def _write_history(path, stages):
    rows = [
        {
            "stage": stage["name"],
            **{k: v for k, v in row.items() if isinstance(v, int | float)},
        }
        for stage in stages
        for row in stage["history"]
    ]
    _write_csv(path, rows)


def _write_csv(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
