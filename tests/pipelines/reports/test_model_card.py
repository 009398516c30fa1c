"""The README.md of a model folder, as the Hugging Face hub reads it."""

import dataclasses
import math

import huggingface_hub
import pytest

from pipelines.options import ClassifyOptions
from pipelines.reports.model_card import model_card
from pipelines.tagging.schemes import PLAIN
from tests.pipelines.reports.runs import classified, pretrained, tagged

pytestmark = pytest.mark.backend_free


def card(run, **changes):
    options = dataclasses.replace(run.options, **changes)
    return model_card(run.metrics, run.settings, options)


def header(text):
    """The metadata, through the hub's own reader, which checks them."""
    return huggingface_hub.ModelCard(text).data


@pytest.mark.parametrize(
    ("run", "pipeline", "metric"),
    [
        (classified(), "text-classification", "accuracy"),
        (classified(problem="multi_label"), "text-classification", "f1"),
        (classified(problem="regression"), "text-classification", "mse"),
        (tagged(), "token-classification", "f1"),
        (tagged(types=("noun",), scheme=PLAIN), None, "accuracy"),
        (pretrained(), "fill-mask", "accuracy"),
    ],
)
def test_the_hub_reads_the_scores(run, pipeline, metric):
    found = header(card(run))
    if pipeline:
        assert found.pipeline_tag == pipeline
    assert found.library_name == "transformers"
    assert metric in found.metrics
    part = "test" if "test" in run.metrics else "validation"
    assert found.eval_results
    for result in found.eval_results:
        key = result.metric_name.replace(" ", "_")
        assert result.metric_value == run.metrics[part][key]
        assert result.dataset_split == part
        assert result.task_type == found.pipeline_tag
    again = header(f"---\n{found.to_yaml()}\n---\n")
    assert again.to_dict() == found.to_dict()


def test_a_score_that_is_no_number_is_left_out():
    run = classified(problem="regression")
    run.metrics["test"]["pearson"] = math.nan
    assert "pearsonr" not in header(card(run)).metrics


@pytest.mark.parametrize(
    ("encoder", "base"),
    [
        ("minilm-l6", "sentence-transformers/all-MiniLM-L6-v2"),
        ("hf://some-org/some-bert", "some-org/some-bert"),
        ("/home/me/bert", None),
        ("bert-tiny", None),
        ("keras_hub:bert_base_en", None),
    ],
)
def test_only_what_lies_on_the_hub_is_a_base_model(encoder, base):
    text = card(classified(), encoder=encoder)
    assert header(text).base_model == base
    assert "/home/me" not in text
    assert header(text).get("license") is None


def test_the_folders_of_the_data_are_nobodys_business():
    text = card(classified(), data="/home/me/texts.csv")
    assert "/home" not in text
    assert header(text).eval_results[0].dataset_name == "texts.csv"


def test_what_transformers_does_not_know_is_not_promised():
    run = classified()
    text = model_card(run.metrics, run.settings, run.options, False)
    assert header(text).library_name == "keras"
    assert "from transformers" not in text


def test_windows_are_told():
    run = classified()
    assert "windows" not in card(run)
    run.settings["windows"] = "max"
    assert "16 tokens at once; longer texts in windows (max)." in card(run)


def test_a_tagger_is_called_one():
    text = card(tagged())
    assert "# Token tagger" in text
    assert "keras-encoder tag --config" in text
    assert 'pipeline("token-classification"' in text


def test_scores_are_those_on_the_test_data():
    run = classified()
    run.metrics["test"] = {**run.metrics["test"], "accuracy": 0.75}
    text = card(run)
    assert "## Scores on the test data" in text
    assert "| accuracy | 0.7500 |" in text
    assert "On the test data: accuracy 0.7500, against 0.3333" in text
    assert "per_class" not in text


def test_without_test_data_those_on_validation():
    run = classified(part="validation")
    run.metrics["validation"] = {
        **run.metrics["validation"],
        "accuracy": 0.5,
    }
    text = card(run)
    assert "## Scores on the validation data" in text
    assert "| accuracy | 0.5000 |" in text


def test_it_tells_how_the_model_came_to_be():
    text = card(classified(("a", "b")))
    assert "| adapt | 1,234 | 4 | 0.001 | 3 |" in text
    assert "those of tune, epoch 1" in text
    assert "`a`, `b`" in text


def test_labels_stay_names_and_are_not_too_many():
    labels = ["a`b", "# c\n---\nd", "``e", *map(str, range(97))]
    run = classified(labels)
    text = card(run)
    assert "Labels: `` a`b ``, `# c --- d`, ``` ``e ```, `0`" in text
    assert "and 70 more, in `config.json`" in text
    assert "`26`" in text and "`27`" not in text
    assert header(text).pipeline_tag == "text-classification"


def test_data_from_python_have_a_name():
    run = classified()
    options = ClassifyOptions(data=[("a", "b")])
    text = model_card(run.metrics, run.settings, options)
    assert header(text).eval_results[0].dataset_type == "data-from-Python"
