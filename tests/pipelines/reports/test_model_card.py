"""The README.md of a model folder."""

import pytest
import yaml

from pipelines.reports.model_card import model_card

pytestmark = pytest.mark.backend_free
STAGE = {
    "name": "adapt",
    "trainable_parameters": 1234,
    "epochs": 7,
    "learning_rate": 0.001,
    "seconds": 3.2,
}
METRICS = {
    "task": "classify",
    "backend": "jax",
    "seed": 42,
    "labels": ["a", "b"],
    "stages": [STAGE],
    "best": {"stage": "adapt", "epoch": 5},
    "validation": {"accuracy": 0.5},
    "test": {"accuracy": 0.75, "per_class": {}},
}
SETTINGS = {"task": "classify", "problem": "single_label", "max_length": 128}
OPTIONS = {"encoder": "minilm-l6", "data": None}


def header(card):
    _, yaml_text, _ = card.split("---\n", 2)
    return yaml.safe_load(yaml_text)


def test_the_header_is_that_of_the_hub():
    found = header(model_card(METRICS, SETTINGS, OPTIONS))
    assert found["pipeline_tag"] == "text-classification"
    assert found["base_model"] == "minilm-l6"


def test_windows_are_told():
    card = model_card(METRICS, {**SETTINGS, "windows": "max"}, OPTIONS)
    assert "128 tokens at once; longer texts in windows (max)." in card
    assert "windows" not in model_card(METRICS, SETTINGS, OPTIONS)


def test_a_tagger_is_called_one():
    settings = {**SETTINGS, "task": "tag"}
    card = model_card({**METRICS, "task": "tag"}, settings, OPTIONS)
    assert header(card)["pipeline_tag"] == "token-classification"
    assert "# Token tagger" in card
    assert "keras-encoder tag --config" in card
    assert 'pipeline("token-classification"' in card


def test_scores_are_those_on_the_test_data():
    card = model_card(METRICS, SETTINGS, OPTIONS)
    assert "## Scores on the test data" in card
    assert "| accuracy | 0.7500 |" in card
    assert "per_class" not in card


def test_without_test_data_those_on_validation():
    metrics = {k: v for k, v in METRICS.items() if k != "test"}
    card = model_card(metrics, SETTINGS, OPTIONS)
    assert "## Scores on the validation data" in card
    assert "| accuracy | 0.5000 |" in card


def test_it_tells_how_the_model_came_to_be():
    card = model_card(METRICS, SETTINGS, OPTIONS)
    assert "| adapt | 1,234 | 7 | 0.001 | 3 |" in card
    assert "those of adapt, epoch 5" in card
    assert "`a`, `b`" in card
