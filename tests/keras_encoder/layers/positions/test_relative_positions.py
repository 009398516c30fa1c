import numpy as np
import pytest
import torch
import transformers
from transformers.models.t5.modeling_t5 import T5Attention

from keras_encoder.layers.positions.relative import (
    RelativePositions,
    distance_buckets,
)
from tests.keras_encoder.fixed_weights import HEADS, set_sine_weights, states
from tests.keras_encoder.layer_contract import check_layer, to_numpy


def relative(**arguments):
    layer = RelativePositions(HEADS, **arguments)
    layer.build((None, None, 8))
    return set_sine_weights(layer)


def bias(layer, length):
    return to_numpy(layer.attention_arguments(length)["position_bias"])


def test_contract():
    check_layer(
        RelativePositions,
        lambda: dict(
            num_heads=HEADS,
            num_buckets=8,
            max_distance=20,
            embeddings_initializer="ones",
        ),
        states(),
        unmoved=("embeddings",),  # the attention reads them, not the layer
    )


@pytest.mark.parametrize(
    ("buckets", "longest"), [(32, 128), (32, 100), (8, 20), (4, 2), (64, 17)]
)
def test_equals_t5(buckets, longest):
    length = 300
    config = transformers.T5Config(
        d_model=8,
        d_kv=4,
        num_heads=HEADS,
        relative_attention_num_buckets=buckets,
        relative_attention_max_distance=longest,
        is_decoder=False,
    )
    theirs = T5Attention(config, has_relative_attention_bias=True)
    layer = relative(num_buckets=buckets, max_distance=longest)
    with torch.no_grad():
        table = torch.tensor(layer.weights[0].numpy())
        theirs.relative_attention_bias.weight.copy_(table)
        expected = theirs.compute_bias(length, length).numpy()
    found = bias(layer, length)
    assert found.shape == (1, HEADS, length, length)
    np.testing.assert_array_equal(found, expected)


def test_near_distances_have_a_bucket_each_and_far_ones_share():
    found = distance_buckets(16, 128)
    np.testing.assert_array_equal(found[:9], [0, 1, 2, 3, 4, 5, 6, 7, 8])
    np.testing.assert_array_equal(found[[15, 16, 31, 32]], [9, 10, 11, 12])
    assert found[-1] == 15
    assert (np.diff(found) >= 0).all()


def test_before_and_after_differ():
    found = bias(relative(), 6)[0]
    assert not np.allclose(found, found.transpose(0, 2, 1))
    np.testing.assert_array_equal(found[:, 1:, 1:], found[:, :-1, :-1])


@pytest.mark.parametrize(
    "arguments",
    [
        dict(num_buckets=7),
        dict(num_buckets=2),
        dict(num_buckets=32, max_distance=8),
    ],
)
def test_buckets_that_make_no_sense_are_refused(arguments):
    with pytest.raises(ValueError, match="num_buckets=") as raised:
        RelativePositions(2, **arguments)
    assert "must be even, 4 or more" in str(raised.value)
