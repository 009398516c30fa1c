"""Keras callbacks beside the stages: what they see, what they write."""

import csv
import dataclasses
import sys
import types

import keras
import pytest

from pipelines.classify import classify
from pipelines.errors import InputError
from pipelines.options import ClassifyOptions
from pipelines.training.callbacks import log_callbacks


class Watch(keras.callbacks.Callback):
    """Notes the epochs and their logs."""

    def __init__(self):
        super().__init__()
        self.begun, self.seen = [], []

    def on_train_begin(self, logs=None):
        self.begun.append(self.params["epochs"])

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append((epoch, dict(logs)))


@pytest.fixture(scope="module")
def watched(options, tmp_path_factory):
    """A run of both stages with a callback and a CSV file."""
    folder = tmp_path_factory.mktemp("watched")
    options = dataclasses.replace(
        options,
        adapt_epochs=2,
        output=str(folder / "model"),
        csv_log=str(folder / "logs" / "run.csv"),
    )
    watch = Watch()
    _, metrics = classify(options, callbacks=[watch])
    return watch, metrics, options


def test_epochs_go_on_counting_through_the_stages(watched):
    watch, metrics, _ = watched
    assert watch.begun == [2, 3]
    assert [epoch for epoch, _ in watch.seen] == [0, 1, 2]
    told = [r["epoch"] for s in metrics["stages"] for r in s["history"]]
    assert told == [1, 2, 1]


def test_logs_have_the_scores_of_the_validation_data(watched):
    watch, metrics, _ = watched
    rows = [row for s in metrics["stages"] for row in s["history"]]
    for (_, logs), row in zip(watch.seen, rows, strict=True):
        assert float(logs["loss"]) == row["train_loss"]
        assert logs["val_loss"] == row["loss"]
        assert logs["val_macro_f1"] == row["macro_f1"]


def test_the_csv_file_has_one_header_and_every_epoch(watched):
    _, metrics, options = watched
    with open(options.csv_log, encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["epoch"] for row in found] == ["0", "1", "2"]
    rows = [row for s in metrics["stages"] for row in s["history"]]
    for one, row in zip(found, rows, strict=True):
        assert float(one["val_loss"]) == pytest.approx(row["loss"])


def test_a_callback_may_end_a_stage(head_only):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    _, metrics = classify(head_only, callbacks=[Stop()])
    assert metrics["stages"][0]["epochs"] == 1


def test_tensorboard_gets_train_and_validation_scores(
    head_only, tmp_path, monkeypatch
):
    """On every backend Keras hands its scalars to TensorBoard's package."""
    pytest.importorskip("tensorflow")
    written = []

    def scalar(name, data, step=None, description=None):
        written.append((name, int(step), float(data)))

    package = types.ModuleType("tensorboard")
    package.summary = types.ModuleType("tensorboard.summary")
    v2 = types.ModuleType("tensorboard.summary.v2")
    v2.scalar = scalar
    package.__spec__ = sys.__spec__
    monkeypatch.setitem(sys.modules, "tensorboard", package)
    monkeypatch.setitem(sys.modules, "tensorboard.summary", package.summary)
    monkeypatch.setitem(sys.modules, "tensorboard.summary.v2", v2)
    folder = tmp_path / "logs"
    options = dataclasses.replace(
        head_only, adapt_epochs=2, tensorboard=str(folder)
    )
    _, metrics = classify(options)
    by_step = {
        step: {n: value for n, at, value in written if at == step}
        for step in (0, 1)
    }
    for step, row in enumerate(metrics["stages"][0]["history"]):
        # The name of both: the folder tells training and validation apart.
        assert row["loss"] in [
            pytest.approx(v)
            for n, at, v in written
            if (n, at) == ("epoch_loss", step)
        ]
        assert by_step[step]["epoch_macro_f1"] == pytest.approx(row["macro_f1"])
        assert by_step[step]["epoch_learning_rate"] == pytest.approx(
            0.02 * (1 - step) / 2, abs=0.01
        )
    assert {p.name for p in folder.iterdir()} == {"train", "validation"}


def test_without_its_packages_tensorboard_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    found = r"--tensorboard: .* not installed: tensorboard\. .*--csv-log"
    with pytest.raises(InputError, match=found):
        log_callbacks(ClassifyOptions(tensorboard="logs"))


def test_a_file_is_not_overwritten_unasked(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("my data", encoding="utf-8")
    options = ClassifyOptions(csv_log=str(path))
    with pytest.raises(InputError, match=r"--csv-log .*mine.csv: a file"):
        log_callbacks(options)
    assert path.read_text(encoding="utf-8") == "my data"
    log_callbacks(dataclasses.replace(options, overwrite=True))
    assert path.read_text(encoding="utf-8") == ""


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    options = ClassifyOptions(csv_log=str(tmp_path))
    with pytest.raises(InputError, match="expected a file, found a folder"):
        log_callbacks(options)
    (tmp_path / "file").write_text("", encoding="utf-8")
    options = ClassifyOptions(csv_log=str(tmp_path / "file" / "log.csv"))
    with pytest.raises(InputError, match="cannot be written"):
        log_callbacks(options)


def test_without_options_there_are_none():
    assert log_callbacks(ClassifyOptions()) == ()
