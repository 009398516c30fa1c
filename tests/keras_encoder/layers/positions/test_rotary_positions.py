import keras
import numpy as np
import pytest
import torch
import transformers
from keras import ops
from transformers.models.llama import modeling_llama

from keras_encoder.layers.positions.rotary import (
    RotaryPositions,
    rotate_pairs,
    rotation,
)
from tests.keras_encoder.checkpoints.references import (
    assert_encoder_same,
    random_inputs,
    with_sine_weights,
)
from tests.keras_encoder.fixed_weights import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    LAYERS,
    MAX_SEQ,
    VOCABULARY,
    sine,
    states,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import check_layer, to_numpy

TENSOR = sine((2, 3, 40, 6))  # (batch, heads, seq, head_dim)


def turned(tensor, base=10000.0):
    layer = RotaryPositions(tensor.shape[1], base)
    layer.build((None, None, tensor.shape[1] * tensor.shape[3]))
    rotate = layer.attention_arguments(tensor.shape[2])["rotate"]
    return to_numpy(rotate(ops.convert_to_tensor(tensor)))


def test_contract():
    check_layer(
        RotaryPositions, lambda: dict(num_heads=HEADS, base=50.0), states()
    )


@pytest.mark.parametrize("base", [10000.0, 50])
def test_is_a_complex_product(base):
    """(x + iy) exp(i p base^(-2j / d)), in float64."""
    rates = float(base) ** (-np.arange(0, 6, 2) / 6)
    turn = np.exp(1j * np.arange(40)[:, None] * rates)
    expected = (TENSOR[..., ::2] + 1j * TENSOR[..., 1::2]) * turn
    found = turned(TENSOR, base)
    np.testing.assert_allclose(found[..., ::2], expected.real, atol=1e-5)
    np.testing.assert_allclose(found[..., 1::2], expected.imag, atol=1e-5)


def test_equals_llama_up_to_the_order_of_features():
    cos, sin = (
        np.concatenate([to_numpy(table)] * 2, axis=-1)[None]
        for table in rotation(40, 6, 10000.0)
    )
    order = [0, 2, 4, 1, 3, 5]  # theirs pairs i with i + 3
    halves = torch.tensor(TENSOR[..., order])
    theirs, _ = modeling_llama.apply_rotary_pos_emb(
        halves, halves, torch.tensor(cos), torch.tensor(sin)
    )
    found = turned(TENSOR)[..., order]
    np.testing.assert_allclose(found, theirs.numpy(), atol=1e-6)


def test_an_encoder_equals_roformer():
    config = transformers.RoFormerConfig(
        vocab_size=VOCABULARY,
        embedding_size=HIDDEN,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INTERMEDIATE,
        max_position_embeddings=MAX_SEQ,
        type_vocab_size=2,
        hidden_act="gelu",
    )
    reference = with_sine_weights(transformers.RoFormerModel(config))
    angles = reference.encoder.embed_positions
    angles.weight = torch.nn.Parameter(angles.create_weight())
    encoder = tiny_encoder(positions="rotary")
    theirs = iter(
        value.numpy()
        for name, value in reference.state_dict().items()
        if "embed_positions" not in name
    )
    for variable in encoder.weights:
        if not variable.path.startswith(f"{encoder.name}/pooler"):
            array = next(theirs)
            variable.assign(array.T if variable.name == "kernel" else array)
    assert next(theirs, None) is None
    assert_encoder_same(encoder, reference, random_inputs(), pooled=False)


def test_scores_depend_on_the_distance_alone():
    query, key = sine((6,)), sine((6,), 0.7)
    same = np.ones((1, 1, 40, 1), "float32")
    scores = turned(same * query)[0, 0] @ turned(same * key)[0, 0].T
    for distance in (-7, 0, 3):
        diagonal = np.diagonal(scores, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-5)
    assert not np.isclose(scores[0, 3], scores[0, 0], atol=1e-2)


def test_a_first_token_alone_stands_at_position_0():
    cos, sin = rotation(40, 6, 10000.0)
    first = ops.convert_to_tensor(TENSOR[:, :, :1])
    np.testing.assert_array_equal(
        to_numpy(rotate_pairs(first, cos, sin)), TENSOR[:, :, :1]
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_angles_stay_in_float32_in_half_precision(dtype):
    """Rounded positions would turn 256 and 257 alike in bfloat16."""
    ones = ops.cast(ops.ones((1, 1, 400, 2)), dtype)
    cos, sin = rotation(400, 2, 10000.0)
    found = rotate_pairs(ones, cos, sin)
    assert keras.backend.standardize_dtype(found.dtype) == dtype
    position = np.arange(400.0)
    expected = np.cos(position) - np.sin(position)
    np.testing.assert_allclose(to_numpy(found)[0, 0, :, 0], expected, atol=0.01)


def test_an_odd_width_of_heads_is_refused():
    with pytest.raises(ValueError, match="hidden_dim=6, num_heads=2"):
        RotaryPositions(2).build((None, None, 6))


@pytest.mark.parametrize("base", [1, 0.5, "10000", float("inf"), float("nan")])
def test_a_base_out_of_range_is_refused(base):
    with pytest.raises(ValueError, match="`base` must be a number above 1"):
        RotaryPositions(2, base)
