"""Positions without a table read further than one would."""

import pytest
from safetensors.numpy import load_file, save_file

from pipelines.classify import classify
from pipelines.errors import InputError
from pipelines.model_folder import read_model_folder
from pipelines.options import ClassifyOptions
from pipelines.training.recipe import load_pretrained
from tests.pipelines.tiny import rows, write_bert, write_csv

TABLE = "embeddings.position_embeddings.weight"
LONGER = 57  # the table of the tiny BERT has 40 rows


def write_rotary(folder):
    """A folder of an encoder like the tiny BERT but for its positions."""
    write_bert(folder, model_type="keras_encoder", positions="rotary")
    tensors = load_file(folder / "model.safetensors")
    del tensors[TABLE]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


@pytest.mark.backend_free
def test_a_table_of_positions_limits_the_length(tmp_path):
    options = ClassifyOptions(
        encoder=str(write_bert(tmp_path / "bert")), max_length=LONGER
    )
    with pytest.raises(InputError, match="for 40 tokens at most"):
        load_pretrained(options)


def test_rotary_positions_read_beyond_it(tmp_path):
    options = ClassifyOptions(
        encoder=write_rotary(tmp_path / "rotary"),
        data=write_csv(tmp_path / "long.csv", rows(30, longest=70)),
        output=str(tmp_path / "model"),
        max_length=LONGER,
        adapt_epochs=1,
        finetune_epochs=0,
    )
    _, metrics = classify(options)
    assert metrics["data"]["train"]["over_length"]["rows"] > 0
    opened = read_model_folder(options.output)
    assert opened.model.encoder.positions == "rotary"
    assert opened.settings["max_length"] == LONGER
