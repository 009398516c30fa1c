import pytest

from keras_encoder import Encoder
from keras_encoder.presets import PRESETS, preset_config
from tests.keras_encoder.fixed_weights import tiny_encoder


def parameters(
    vocabulary_size,
    num_layers,
    hidden_dim,
    intermediate_dim,
    max_sequence_length=512,
    num_segments=2,
    **_,
):
    """Parameters of a BERT encoder with its pooler, counted on paper."""
    tables = vocabulary_size + max_sequence_length + num_segments
    norm = 2 * hidden_dim
    square = hidden_dim * hidden_dim + hidden_dim
    feed_forward = 2 * hidden_dim * intermediate_dim + (
        intermediate_dim + hidden_dim
    )
    block = 4 * square + feed_forward + 2 * norm
    return tables * hidden_dim + norm + num_layers * block + square


def test_the_count_on_paper_is_the_count_of_an_encoder():
    encoder = tiny_encoder(num_layers=3, num_segments=4)
    assert encoder.count_params() == parameters(**encoder.get_config())


@pytest.mark.parametrize(
    ("name", "count"),
    [("bert-base", 109_482_240), ("bert-large", 335_141_888)],
)
def test_the_published_numbers_of_parameters(name, count):
    assert parameters(**preset_config(name)) == count


@pytest.mark.parametrize("name", PRESETS)
def test_every_size_has_the_proportions_of_bert(name):
    config = preset_config(name)
    assert config["intermediate_dim"] == 4 * config["hidden_dim"]
    head_dim = 32 if name.startswith("minilm") else 64
    assert config["hidden_dim"] == head_dim * config["num_heads"]


def test_the_smallest_size_makes_an_encoder():
    config = preset_config("bert-tiny")
    assert Encoder(**config).count_params() == parameters(**config)
