"""The command of a run, read back by the command line itself."""

import shlex

import numpy as np
import pytest

from pipelines.cli import parse
from pipelines.options import ClassifyOptions, PretrainOptions, TagOptions
from pipelines.reports.reproduce import command, given_in_python, versions

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("classify", ClassifyOptions()),
        (
            "classify",
            ClassifyOptions(
                data="a folder/it's $HOME.csv",
                class_weights='"a,b"=2,c=0.5',
                adapt_patience=None,
                finetune_learning_rate=3e-5,
                label_smoothing=0.1,
                problem="multi_label",
                skip_unlabelled=True,
            ),
        ),
        ("tag", TagOptions(constrained=False, stride=8, tag="-2", dropout=0.0)),
        ("pretrain", PretrainOptions(data="x.txt", cased=True, warmup=0.0)),
    ],
)
def test_the_command_has_the_options(task, options):
    backend, program, *words = shlex.split(command(task, "torch", options))
    assert (backend, program) == ("KERAS_BACKEND=torch", "keras-encoder")
    assert parse(words) == (task, options)


def test_it_is_as_short_as_can_be():
    assert command("tag", "jax", TagOptions(output="here", overwrite=True)) == (
        "KERAS_BACKEND=jax keras-encoder tag"
    )


def test_data_from_python_are_named_not_written():
    options = ClassifyOptions(train=[("a", "b")], validation=iter(()), seed=1)
    assert "train" not in command("classify", "jax", options)
    assert given_in_python(options) == ["train", "validation"]


def test_versions_are_those_installed():
    found = versions("a-backend-of-nobody")
    assert found["numpy"] == np.__version__
    assert "a-backend-of-nobody" not in found
