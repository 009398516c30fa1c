"""`info`: parameters and operations of an encoder, as a table."""

import pytest

from keras_encoder.checkpoints.errors import CheckpointError
from pipelines.info import info
from pipelines.options import InfoOptions


@pytest.mark.backend_free
def test_a_size_is_split_by_component(capsys):
    info(InfoOptions(encoder="bert-base", length=128))
    shown = capsys.readouterr().out
    assert "parameters: 109,482,240" in shown
    assert "length 128" in shown
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


@pytest.mark.backend_free
def test_an_unknown_encoder_is_refused():
    with pytest.raises(CheckpointError, match="neither a folder"):
        info(InfoOptions(encoder="bert-bsae"))
