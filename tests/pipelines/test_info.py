"""`info`: parameters and operations of an encoder, as a table."""

import json

import pytest

from keras_encoder.checkpoints.config import huggingface_config
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.keras_hub import save_keras_hub
from pipelines.info import info
from pipelines.options import InfoOptions
from tests.keras_encoder.checkpoints.references import distilbert
from tests.keras_encoder.fixed_weights import UNLIKE_BERT, tiny_encoder


@pytest.mark.backend_free
def test_a_size_is_split_by_component(capsys):
    info(InfoOptions(encoder="bert-base", length=128))
    shown = capsys.readouterr().out
    assert "parameters: 109,482,240" in shown
    assert "length 128" in shown
    assert "overtake the feed-forward at length 3072 (4 x hidden)" in shown
    for name in ("embeddings", "attention", "feed-forward", "pooler"):
        assert name in shown


@pytest.mark.backend_free
def test_a_folder_is_split_by_component(bert, capsys):
    info(InfoOptions(encoder=bert))
    shown = capsys.readouterr().out
    assert "num_layers=2" in shown
    assert "hidden_dim=16" in shown


def test_a_folder_of_ours_has_the_parameters_of_its_encoder(trained, capsys):
    info(InfoOptions(encoder=str(trained.folder), length=8))
    count = trained.fine_tuned.model.encoder.count_params()
    assert f"parameters: {count:,}" in capsys.readouterr().out


@pytest.mark.parametrize("kind", UNLIKE_BERT)
def test_encoders_that_are_no_bert_have_their_parameters(
    tmp_path, capsys, kind
):
    encoder = tiny_encoder(**kind)
    config = json.dumps(huggingface_config(encoder))
    (tmp_path / "config.json").write_text(config)
    info(InfoOptions(encoder=str(tmp_path)))
    count = encoder.count_params()
    assert f"parameters: {count:,}\n" in capsys.readouterr().out


def test_other_formats_are_read_too(tmp_path, capsys):
    encoder = tiny_encoder(activation="gelu_tanh")
    save_keras_hub(encoder, None, tmp_path / "hub")
    info(InfoOptions(encoder=str(tmp_path / "hub")))
    count = encoder.count_params()
    assert f"parameters: {count:,}\n" in capsys.readouterr().out
    distilbert().save_pretrained(tmp_path / "distilbert")
    info(InfoOptions(encoder=str(tmp_path / "distilbert")))
    assert "num_layers=2" in capsys.readouterr().out


@pytest.mark.backend_free
def test_an_unknown_encoder_is_refused():
    with pytest.raises(CheckpointError, match="neither a folder"):
        info(InfoOptions(encoder="bert-bsae"))
