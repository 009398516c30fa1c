"""Keras callbacks beside the stages: what they see, what they write."""

import csv
import dataclasses
import sys

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


def test_tensorboard_opens_what_a_run_wrote(head_only, tmp_path):
    folder = tmp_path / "logs"
    options = dataclasses.replace(
        head_only, adapt_epochs=2, tensorboard=str(folder)
    )
    _, metrics = classify(options)
    history = metrics["stages"][0]["history"]
    losses = [row["train_loss"] for row in history]
    train = scalars(folder / "train")
    assert train["epoch_loss"] == pytest.approx(losses)
    assert train["epoch_learning_rate"] == pytest.approx(
        [0.02 / 2, 0.0], abs=0.01
    )
    validation = scalars(folder / "validation")
    for name in ("loss", "macro_f1"):
        values = [row[name] for row in history]
        assert validation[f"epoch_{name}"] == pytest.approx(values)


def scalars(folder):
    """Values by name, as TensorBoard itself reads its files."""
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util import tensor_util

    reader = event_accumulator.EventAccumulator(str(folder))
    reader.Reload()
    return {
        name: [
            float(tensor_util.make_ndarray(event.tensor_proto))
            for event in reader.Tensors(name)
        ]
        for name in reader.Tags()["tensors"]
    }


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
