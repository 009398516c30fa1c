"""A tiny encoder, small data, and one fine-tuned model for many tests."""

import dataclasses

import pytest

from pipelines.options import ClassifyOptions
from tests.pipelines.tiny import rows, write_bert, write_csv


@dataclasses.dataclass(frozen=True)
class Trained:
    """What a run of `classify` was given, returned and wrote."""

    options: ClassifyOptions
    folder: object
    fine_tuned: object
    metrics: dict


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """Path of a tiny Hugging Face BERT."""
    return str(write_bert(tmp_path_factory.mktemp("tiny") / "bert"))


@pytest.fixture(scope="session")
def topics(tmp_path_factory):
    """Path of a CSV file of 60 short texts in three classes."""
    return write_csv(tmp_path_factory.mktemp("topics") / "topics.csv", rows())


@pytest.fixture(scope="session")
def options(bert, topics):
    """Options of a run of seconds; one padded length, so one program."""
    return ClassifyOptions(
        data=topics,
        encoder=bert,
        max_length=8,
        batch_size=16,
        adapt_epochs=3,
        adapt_learning_rate=0.02,
        finetune_epochs=1,
        finetune_learning_rate=1e-3,
        dropout=0.1,
        precision="float32",  # so that a test is the same on every machine
    )


@pytest.fixture
def head_only(options, tmp_path):
    """The same run without its expensive second stage."""
    return dataclasses.replace(
        options, finetune_epochs=0, output=str(tmp_path / "model")
    )


@pytest.fixture(scope="session")
def trained(options, tmp_path_factory):
    """One run of `classify`; its folder must not be changed."""
    # Not above: it imports the backend, which some tests do without.
    from pipelines.classify import classify

    folder = tmp_path_factory.mktemp("trained") / "model"
    options = dataclasses.replace(options, output=str(folder))
    fine_tuned, metrics = classify(options)
    return Trained(options, folder, fine_tuned, metrics)
