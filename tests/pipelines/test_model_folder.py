"""The folder of a fine-tuned model: whole, readable, the same everywhere."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_encoder
from keras_encoder.checkpoints.errors import CheckpointError
from pipelines.classification.texts import predict_scores
from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from pipelines.model_folder import read_model_folder, write_model_folder
from tests.pipelines.tiny import rows, write_json, write_jsonl

TEXTS = [*(text for text, _ in rows(9)), "", "Zebra, GRASS!", "sun " * 50]


def scores(fine_tuned):
    return predict_scores(fine_tuned, [TextExample(text) for text in TEXTS])


@pytest.fixture
def copy(trained, tmp_path):
    """A copy of the model folder, to be damaged."""
    return shutil.copytree(trained.folder, tmp_path / "model")


def test_the_folder_has_all_that_belongs_to_a_model(trained):
    assert {path.name for path in trained.folder.iterdir()} == {
        "README.md",
        "config.json",
        "history.csv",
        "keras_encoder.json",
        "metrics.json",
        "model.safetensors",
        "options.yaml",
        "report.html",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    }
    assert [p.name for p in trained.folder.parent.iterdir()] == ["model"]


def test_settings_tell_what_wrote_them(trained):
    text = (trained.folder / "keras_encoder.json").read_text("utf-8")
    assert json.loads(text) == {
        "format": 1,
        "task": "classify",
        "problem": "single_label",
        "max_length": 8,
        "versions": {
            "keras_encoder": keras_encoder.__version__,
            "keras": keras.__version__,
            "backend": keras.backend.backend(),
        },
    }


def test_what_was_written_is_read(trained):
    opened = read_model_folder(str(trained.folder))
    assert opened.labels == trained.fine_tuned.labels
    assert opened.settings["max_length"] == 8
    np.testing.assert_allclose(
        scores(opened), scores(trained.fine_tuned), atol=1e-6
    )


@pytest.mark.filterwarnings("ignore")  # what other libraries say
def test_transformers_opens_it_with_the_same_scores(trained):
    transformers = pytest.importorskip("transformers")
    pipeline = transformers.pipeline(
        "text-classification",
        model=str(trained.folder),
        top_k=None,
        device="cpu",
    )
    found = pipeline(TEXTS, truncation=True)
    ours = scores(trained.fine_tuned)
    for row, expected in zip(found, ours, strict=True):
        by_label = {each["label"]: each["score"] for each in row}
        assert [by_label[n] for n in trained.fine_tuned.labels] == (
            pytest.approx(list(expected), abs=1e-5)
        )


def test_another_backend_gives_the_same_scores(trained, tmp_path):
    names = ["tensorflow", "jax", "torch"]
    place = names.index(keras.backend.backend())
    other = names[(place + 1) % 3]
    if importlib.util.find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    texts = write_jsonl(tmp_path / "in.jsonl", [{"text": t} for t in TEXTS])
    output = tmp_path / "out.jsonl"
    command = ["predict", "--model", trained.folder, "--input", texts]
    subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *command, "--output", output],
        env={**os.environ, "KERAS_BACKEND": other},
        check=True,
        timeout=300,
    )
    found = [
        list(json.loads(line)["scores"].values())
        for line in output.read_text("utf-8").splitlines()
    ]
    np.testing.assert_allclose(found, scores(trained.fine_tuned), atol=1e-5)


def test_an_error_while_writing_leaves_the_old_folder(trained, copy):
    before = {p.name: p.read_bytes() for p in copy.iterdir()}
    metrics = {**trained.metrics, "stages": "no stages"}
    with pytest.raises(TypeError):
        write_model_folder(copy, trained.fine_tuned, metrics, trained.options)
    assert {p.name: p.read_bytes() for p in copy.iterdir()} == before
    assert [p.name for p in copy.parent.iterdir()] == ["model"]


def test_the_report_tells_of_the_run(trained):
    page = (trained.folder / "report.html").read_text(encoding="utf-8")
    accuracy = trained.metrics["test"]["accuracy"]
    assert f"<dd><bdi>{accuracy:.4f}</bdi></dd>" in page
    assert "Reliability diagram" in page
    assert "topics.csv" in page


def test_a_fault_of_the_report_costs_no_model(trained, tmp_path, monkeypatch):
    def broken(*arguments):
        raise LookupError("no such colour")

    monkeypatch.setattr("pipelines.model_folder.report_page", broken)
    folder = tmp_path / "model"
    with pytest.warns(UserWarning, match="report.html is missing(?s:.*)colour"):
        write_model_folder(
            folder, trained.fine_tuned, trained.metrics, trained.options
        )
    assert not (folder / "report.html").exists()
    assert read_model_folder(str(folder)).labels == trained.fine_tuned.labels


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="--model .*absent: no such folder"):
        read_model_folder(str(tmp_path / "absent"))


def change(path, **changes):
    content = json.loads(path.read_text("utf-8"))
    write_json(path, {**content, **changes})


def test_labels_that_do_not_fit_the_head_are_refused(copy):
    change(copy / "config.json", id2label={"0": "a", "1": "b"})
    with pytest.raises(CheckpointError, match="id2label"):
        read_model_folder(str(copy))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"max_length": "long"}'])
def test_broken_settings_are_refused(copy, text):
    (copy / "keras_encoder.json").write_text(text)
    with pytest.raises((CheckpointError, InputError), match="keras_encoder"):
        read_model_folder(str(copy))


def test_settings_may_begin_with_a_byte_order_mark(copy):
    """Some editors put one there."""
    plain = read_model_folder(str(copy)).settings
    path = copy / "keras_encoder.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_model_folder(str(copy)).settings == plain


def test_settings_that_the_encoder_cannot_serve_are_refused(copy):
    change(copy / "keras_encoder.json", max_length=512)
    with pytest.raises((CheckpointError, InputError), match="max_length"):
        read_model_folder(str(copy))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x10", b"version https://git-lfs.github.com/spec/v1\n"],
)
def test_damaged_weights_are_refused(copy, content):
    (copy / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match="model.safetensors"):
        read_model_folder(str(copy))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_missing_files_are_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(CheckpointError, match=name.split(".")[0]):
        read_model_folder(str(copy))


def test_a_folder_without_vocabulary_is_refused(copy):
    (copy / "tokenizer.json").unlink()
    (copy / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match="vocab"):
        read_model_folder(str(copy))


def test_an_encoder_is_no_classifier(bert):
    with pytest.raises(CheckpointError, match="classifier"):
        read_model_folder(bert)


def test_a_folder_of_transformers_needs_no_settings(copy):
    (copy / "keras_encoder.json").unlink()
    opened = read_model_folder(str(copy))
    assert opened.settings["problem"] == "single_label"
    assert opened.settings["max_length"] == 40


def test_metrics_are_strict_json_even_of_an_epoch_that_diverged(
    trained, tmp_path
):
    metrics = {
        **trained.metrics,
        "stages": [{**trained.metrics["stages"][0], "seconds": float("nan")}],
    }
    folder = tmp_path / "model"
    write_model_folder(folder, trained.fine_tuned, metrics, trained.options)
    text = (folder / "metrics.json").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert json.loads(text)["stages"][0]["seconds"] is None
