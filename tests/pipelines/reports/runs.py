"""Runs that never ran: what reports are made from, for every task."""

import dataclasses

import numpy as np

from pipelines.classification import decisions
from pipelines.classification.outcome import text_outcome
from pipelines.data.examples import PARTS, TaggedExample, TextExample
from pipelines.options import ClassifyOptions, PretrainOptions, TagOptions
from pipelines.reports.data_report import Part, TokenCounts, data_report
from pipelines.reports.outcome import Outcome
from pipelines.tagging.metrics import tag_scores
from pipelines.tagging.outcome import tag_outcome
from pipelines.tagging.schemes import PLAIN
from tests.pipelines.tiny import sine


@dataclasses.dataclass(frozen=True)
class Run:
    """The arguments of `report_page`."""

    metrics: dict
    settings: dict
    options: object
    outcome: Outcome | None

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)


def stage(name, epochs, loss=1.0, **scores):
    """The record of a stage whose loss falls and whose scores stay."""
    history = [
        {
            "epoch": i + 1,
            "train_loss": loss / (i + 1.1),
            "loss": loss / (i + 1),
            **scores,
            "seconds": 0.5,
        }
        for i in range(epochs)
    ]
    return {
        "name": name,
        "trainable_parameters": 1234,
        "epochs": epochs,
        "learning_rate": 1e-3,
        "seconds": 3.21,
        "feature_seconds": 1.5,
        "compile_seconds": 0.25,
        "input_share": 0.011,
        "padding_share": 0.125,
        "shapes": [16, 32],
        "history": history,
        "validation": history[-1],
    }


def counted(labels, rows):
    """A data report of splits that are alike; lengths are made up."""
    tokens = TokenCounts(np.arange(3, 3 + rows), 2, 10 * rows, 1)
    part = Part(labels, np.arange(rows), tokens)
    return data_report(dict.fromkeys(PARTS, part), 16)


def classified(
    labels=("apple", "mango", "zebra"),
    problem="single_label",
    texts=None,
    stages=None,
    part="test",
    backend="jax",
):
    """A classifier that is right two times of three, roughly."""
    rows = 3 * len(labels)
    texts = texts or [f"text number {i}" for i in range(rows)]
    logits = 3 * sine((rows, len(labels)), 0.3)
    gold = [labels[i % len(labels)] for i in range(rows)]
    logits[np.arange(rows), np.arange(rows) % len(labels)] += 3
    if problem == "multi_label":
        gold = [(name,) for name in gold[:-2]] + [(), tuple(labels)]
    if problem == "regression":
        labels, logits = ("score",), logits[:, :1]
        gold = [float(v) for v in sine((rows,), 0.3)]
    examples = [
        TextExample(texts[i % len(texts)], None, gold[i], f"data.csv:{i}")
        for i in range(rows)
    ]
    settings = {"task": "classify", "problem": problem, "max_length": 16}
    scores = decisions.to_scores(logits, problem)
    found = decisions.score(gold, scores, labels, settings)
    shown = {k: v for k, v in found.items() if isinstance(v, float)}
    stages = stages or [stage("adapt", 4, **shown), stage("tune", 2, **shown)]
    metrics = {
        "task": "classify",
        "backend": backend,
        "seed": 42,
        "labels": list(labels),
        "num_parameters": 123456,
        "stages": stages,
        "best": {"stage": stages[-1]["name"], "epoch": 1},
        "rows": {"train": rows, "validation": rows, "test": rows},
        "data": counted(gold, rows),
        "validation": found,
        part: found,
        "seconds": 75.0,
        "precision": "float32",
        "load_seconds": 1.25,
    }
    outcome = text_outcome(part, examples, scores, labels, settings)
    options = ClassifyOptions(data="some/folder/data.csv")
    return Run(metrics, settings, options, outcome)


def tagged(words=("Ines", "met", "Anna", "Lee"), types=("PER",), scheme="IOB2"):
    """A tagger that mistakes the last word of every sentence but one."""
    tags = [f"B-{types[0]}", "O", f"B-{types[-1]}", f"I-{types[-1]}"]
    if scheme == PLAIN:
        tags = [types[0], "verb", types[-1], types[-1]]
    examples = [
        TaggedExample(tuple(words), tuple(tags), f"data.conll:{i}")
        for i in range(6)
    ]
    results = [
        ([*tags[:3], "O"], np.array([0.9, 0.8, 0.95, 0.5 + i / 20]))
        for i in range(5)
    ] + [(tags, np.full(4, 0.99))]
    scores = tag_scores(
        [e.tags for e in examples], [tags for tags, _ in results], scheme
    )
    settings = {"task": "tag", "scheme": scheme, "max_length": 16}
    shown = {k: v for k, v in scores.items() if isinstance(v, float)}
    metrics = {
        "task": "tag",
        "backend": "torch",
        "seed": 7,
        "labels": ["O", *dict.fromkeys(tags)],
        "num_parameters": 99999,
        "stages": [stage("adapt", 3, **shown)],
        "best": {"stage": "adapt", "epoch": 3},
        "data": counted(tags, len(tags)),
        "scheme": scheme,
        "validation": scores,
        "test": scores,
        "seconds": 5.0,
        "precision": "float32",
        "load_seconds": 0.5,
    }
    outcome = tag_outcome("test", examples, results, scheme)
    return Run(metrics, settings, TagOptions(), outcome)


def pretrained():
    """A masked LM of two epochs."""
    record = stage(
        "pretrain",
        2,
        train_masked_lm_loss=2.5,
        masked_lm_loss=2.0,
        masked_lm_accuracy=0.5,
    )
    del record["feature_seconds"]
    metrics = {
        "task": "pretrain",
        "backend": "tensorflow",
        "seed": 42,
        "labels": [],
        "num_parameters": 4444444,
        "stages": [record],
        "best": {"stage": "pretrain", "epoch": 2},
        "rows": {"train": 90, "validation": 10},
        "vocabulary_size": 333,
        "unigram_entropy": 3.25,
        "mask_token": {"loss": 2.25, "accuracy": 0.375},
        "validation": record["history"][-1],
        "seconds": 7400.0,
        "precision": "float32",
        "load_seconds": 0.5,
    }
    settings = {"task": "pretrain", "max_length": 16}
    return Run(metrics, settings, PretrainOptions(data="texts.txt"), None)
