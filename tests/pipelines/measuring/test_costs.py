"""Parameters and operations from sizes alone."""

import pytest

from keras_encoder.encoder import Encoder
from keras_encoder.presets import preset_config
from pipelines.measuring.costs import crossover_length, operations, parameters
from tests.keras_encoder.fixed_weights import UNLIKE_BERT

SMALL = dict(
    vocabulary_size=23,
    num_layers=2,
    num_heads=2,
    hidden_dim=8,
    intermediate_dim=12,
    max_sequence_length=11,
    num_segments=3,
)


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("name", "expected"),
    [("bert-base", 109_482_240), ("bert-large", 335_141_888)],
)
def test_bert_has_as_many_parameters_as_published(name, expected):
    assert sum(parameters(preset_config(name)).values()) == expected


@pytest.mark.parametrize("kind", [{}, *UNLIKE_BERT])
def test_components_add_up_to_the_encoder(kind):
    encoder = Encoder(**SMALL, **kind)
    counts = parameters({**SMALL, **kind})
    assert sum(counts.values()) == encoder.count_params()
    assert counts["pooler"] == encoder.pooler.count_params()
    assert counts["embeddings"] == encoder.embeddings.count_params()
    feed_forward = sum(
        block.feed_forward.count_params() for block in encoder.blocks
    )
    assert counts["feed-forward"] == feed_forward


@pytest.mark.backend_free
def test_operations_equal_the_products_by_hand():
    length, hidden, inner = 5, 8, 12
    found = operations(SMALL, length)
    assert found["projections"] == 2 * 4 * 2 * length * hidden * hidden
    # Scores and weighted sum: (L x H) times (H x L), (L x L) times (L x H).
    assert found["scores and weighted sum"] == 2 * 2 * 2 * length**2 * hidden
    assert found["feed-forward"] == 2 * 2 * 2 * length * hidden * inner
    assert found["pooler"] == 2 * hidden * hidden


@pytest.mark.backend_free
@pytest.mark.parametrize(
    ("activation", "products"), [("relu", 2), ("geglu", 3)]
)
def test_attention_overtakes_the_feed_forward_where_they_are_equal(
    activation, products
):
    size = {**SMALL, "activation": activation}
    length = crossover_length(size)
    assert length == 12 * products / 2
    at = operations(size, length)
    assert at["scores and weighted sum"] == at["feed-forward"]


@pytest.mark.backend_free
def test_bert_base_is_overtaken_at_four_times_its_width():
    assert crossover_length(preset_config("bert-base")) == 4 * 768


@pytest.mark.backend_free
def test_only_attention_grows_with_the_square_of_the_length():
    short, long = operations(SMALL, 16), operations(SMALL, 32)
    name = "scores and weighted sum"
    assert long[name] == 4 * short[name]
    assert long["feed-forward"] == 2 * short["feed-forward"]
