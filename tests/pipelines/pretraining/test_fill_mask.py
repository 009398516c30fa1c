"""Fills of masks against transformers' fill-mask pipeline."""

import json
import re

import numpy as np
import pytest
import transformers

from keras_encoder.checkpoints.load import load_encoder_only
from keras_encoder.checkpoints.save_heads import save_head
from keras_encoder.heads import MaskedLM, Pretraining, Span
from keras_encoder.tokenizer import Tokenizer
from pipelines import cli
from pipelines.model_folder import read_model_folder
from tests.pipelines.tiny import sine, write_jsonl

TEXTS = [
    "the zebra [MASK] near africa",
    "a very [MASK]",
    "[MASK] of the [MASK]! mango.",
    "The unknown: € [MASK]",
]


@pytest.fixture(scope="module", params=[MaskedLM, Pretraining])
def folder(request, bert, tmp_path_factory):
    """A folder that has no settings of ours, as transformers would write."""
    folder = tmp_path_factory.mktemp("masked") / "model"
    encoder, _ = load_encoder_only(bert)
    model = request.param(encoder)
    for phase, variable in enumerate(model.tensors().values()):
        variable.assign(sine(variable.shape, phase, 0.5))
    save_head(model, folder)
    Tokenizer.from_folder(bert).save(folder)
    return folder


def predict(capsys, *argv):
    assert cli.main(["predict", *map(str, argv)]) == cli.DONE
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_fills_are_those_of_transformers(folder, tmp_path, capsys):
    rows = [{"id": i, "text": text} for i, text in enumerate(TEXTS)]
    path = write_jsonl(tmp_path / "in.jsonl", rows)
    found = predict(capsys, "--model", folder, "--input", path)
    pipeline = transformers.pipeline("fill-mask", model=str(folder))
    for number, (text, result) in enumerate(zip(TEXTS, found, strict=True)):
        assert result["id"] == number
        ours, theirs = result["fills"], pipeline(text)
        if text.count("[MASK]") == 1:
            ours, theirs = [ours], [theirs]
        assert len(ours) == len(theirs) == text.count("[MASK]")
        for fills, expected in zip(ours, theirs, strict=True):
            assert len(fills) == 5
            for fill, other in zip(fills, expected, strict=True):
                assert list(fill) == list(other)
                np.testing.assert_allclose(
                    fill.pop("score"), other.pop("score"), rtol=1e-4
                )
                assert fill == other


def test_one_text_of_the_command_line(folder, capsys):
    (found,) = predict(capsys, "--model", folder, "--text", "a [MASK] pie")
    scores = [fill["score"] for fill in found["fills"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 < sum(scores) < 1


def refused(capsys, *argv):
    assert cli.main([*map(str, argv)]) == cli.WRONG_INPUT
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "no mask"}, r"in.jsonl:1: expected \[MASK\].*found none"),
        ({"text": "a " * 50 + "[MASK]"}, "among the first 40 tokens"),
        ({"text": "[MASK]", "text_pair": "a"}, 'reads no "text_pair"'),
        ({"tokens": ["[MASK]"]}, "the model is a masked LM"),
    ],
)
def test_what_cannot_be_filled_is_named(folder, tmp_path, capsys, row, message):
    path = write_jsonl(tmp_path / "in.jsonl", [row])
    found = refused(capsys, "predict", "--model", folder, "--input", path)
    assert re.search(message, found)


def test_a_mask_in_a_text_stays_text_elsewhere(folder):
    """Only fill-mask reads a special token in a text as one."""
    tokenizer = read_model_folder(str(folder)).tokenizer
    (encoding,) = tokenizer.encode(["[MASK]"])
    assert tokenizer.mask_id not in encoding.ids


def test_evaluate_has_no_labels_to_score(folder, topics, capsys):
    found = refused(capsys, "evaluate", "--model", folder, "--data", topics)
    assert "found a masked LM" in found


def test_other_heads_are_named(bert, tmp_path, capsys):
    encoder, _ = load_encoder_only(bert)
    save_head(Span(encoder), tmp_path)
    found = refused(capsys, "predict", "--model", tmp_path, "--text", "a")
    assert "found a BertForQuestionAnswering" in found
