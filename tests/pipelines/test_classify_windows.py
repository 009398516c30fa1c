"""Texts whose topic stands behind the first window."""

import dataclasses
import json

import numpy as np
import pytest

from pipelines.classification.texts import predict_scores
from pipelines.classify import classify
from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from pipelines.evaluate import evaluate
from pipelines.model_folder import read_model_folder
from pipelines.options import EvaluateOptions
from tests.pipelines.tiny import COMMON, TOPICS, write_csv


@pytest.fixture(scope="module")
def late_topics(tmp_path_factory):
    """Texts that begin with 6 to 10 words that tell nothing of their topic."""
    lines = []
    for i in range(48):
        topic = list(TOPICS)[i % 3]
        before = [COMMON[(i + j) % 8] for j in range(6 + i % 5)]
        own = [TOPICS[topic][(i + j) % 8] for j in range(6)]
        lines.append((" ".join([*before, *own]), topic))
    return write_csv(tmp_path_factory.mktemp("late") / "late.csv", lines)


@pytest.mark.parametrize("how", ["mean", "vote"])
def test_windows_read_what_cutting_loses(how, late_topics, options, tmp_path):
    options = dataclasses.replace(
        options,
        data=None,
        train=late_topics,
        validation=late_topics,
        windows=how,
        stride=1,
        adapt_epochs=15,
        adapt_learning_rate=0.05,
        finetune_epochs=2 if how == "mean" else 0,
        finetune_learning_rate=3e-3,
        output=str(tmp_path / "model"),
    )
    _, metrics = classify(options)
    report = metrics["data"]["train"]
    assert report["over_length"]["rows"] == report["windows"]["rows"] > 0
    assert report["windows"]["total"] > report["rows"]
    # The first windows alone tell nothing: a third would be right.
    assert metrics["validation"]["accuracy"] > 0.6
    settings = json.loads((tmp_path / "model/keras_encoder.json").read_text())
    assert (settings["windows"], settings["stride"]) == (how, 1)
    # The same windows in `evaluate`, which reads the folder.
    opened = read_model_folder(options.output)
    late = "very old small big his the of near far zebra stripe hoof herd"
    scores = predict_scores(opened, [TextExample(late), TextExample("zoo")])
    cut = dataclasses.replace(
        opened, settings={**opened.settings, "windows": "none"}
    )
    other = predict_scores(cut, [TextExample(late), TextExample("zoo")])
    assert np.abs(scores[0] - other[0]).max() > 1e-3
    np.testing.assert_allclose(scores[1], other[1], atol=1e-5)


def test_evaluate_scores_as_the_run_did(late_topics, options, tmp_path):
    options = dataclasses.replace(
        options,
        data=None,
        train=late_topics,
        validation=late_topics,
        windows="max",
        gradient_accumulation_steps=2,
        adapt_epochs=1,
        finetune_epochs=0,
        output=str(tmp_path / "model"),
    )
    _, metrics = classify(options)
    found = evaluate(EvaluateOptions(model=options.output, data=late_topics))
    for name, value in metrics["validation"].items():
        if isinstance(value, float):
            assert found[name] == pytest.approx(value, rel=1e-5)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stride": 2}, "--stride: of the windows that --windows"),
        ({"stride": 4, "windows": "max"}, "--stride 4: .*at most half.*here 3"),
    ],
)
def test_strides_that_make_no_sense_are_refused(options, changes, message):
    with pytest.raises(InputError, match=message):
        classify(dataclasses.replace(options, **changes))
