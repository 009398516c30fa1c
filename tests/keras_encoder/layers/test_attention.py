import keras
import numpy as np
import pytest

from keras_encoder.layers import SelfAttention
from keras_encoder.layers.attention import (
    attention_probabilities,
    fused_attention,
    padding_bias,
)
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    BATCH,
    HEADS,
    HIDDEN,
    SEQ,
    padding_mask,
    set_sine_weights,
    sine,
    states,
)
from tests.keras_encoder.layer_contract import check_layer, policy, to_numpy

# A bias of all keys alike does not change a softmax, so its gradient is 0.
KEY_BIAS = ("key/bias",)


def attention(hidden=HIDDEN, **arguments):
    layer = SelfAttention(**{"num_heads": HEADS, **arguments})
    layer.build((None, None, hidden))
    return set_sine_weights(layer)


def test_contract():
    check_layer(
        SelfAttention,
        lambda: dict(num_heads=HEADS, dropout=0.1, kernel_initializer="zeros"),
        states(),
        call_arguments={"padding_mask": padding_mask()},
        unmoved=KEY_BIAS,
    )


@pytest.mark.parametrize("mask", [None, padding_mask()])
def test_equals_its_formula(mask):
    layer = attention()
    output, probabilities = layer(
        states(), padding_mask=mask, return_attention_scores=True
    )
    expected = numpy_reference.attention(
        states(), numpy_reference.weights_of(layer), HEADS, mask
    )
    np.testing.assert_allclose(to_numpy(output), expected[0], atol=2e-6)
    np.testing.assert_allclose(to_numpy(probabilities), expected[1], atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32", "uint8"])
def test_any_type_of_mask_is_the_same_mask(dtype):
    layer = attention()
    np.testing.assert_array_equal(
        to_numpy(layer(states(), padding_mask=padding_mask().astype(dtype))),
        to_numpy(layer(states(), padding_mask=padding_mask())),
    )


def test_masked_keys_get_no_attention_and_rows_sum_to_1():
    _, probabilities = attention()(
        states(), padding_mask=padding_mask(), return_attention_scores=True
    )
    probabilities = to_numpy(probabilities)
    assert probabilities.shape == (BATCH, HEADS, SEQ, SEQ)
    np.testing.assert_allclose(probabilities.sum(-1), 1, atol=1e-6)
    masked = np.broadcast_to(
        padding_mask()[:, None, None, :] == 0, probabilities.shape
    )
    np.testing.assert_array_equal(probabilities[masked], 0)


def test_a_mask_works_where_every_axis_has_the_same_size():
    # Batch, length and heads are 2: a mask on a wrong axis would still fit.
    x, mask = states(2, 2, 6), np.array([[1, 1], [1, 0]])
    layer = attention(6)
    expected, _ = numpy_reference.attention(
        x, numpy_reference.weights_of(layer), 2, mask
    )
    np.testing.assert_allclose(
        to_numpy(layer(x, padding_mask=mask)), expected, atol=2e-6
    )


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 1e-6), ("bfloat16", 0.02), ("float16", 0.002)],
)
@pytest.mark.parametrize("masked", [False, True])
def test_the_fused_path_equals_the_plain_one(dtype, tolerance, masked):
    """Also where a row of the batch is masked altogether."""
    shape = (BATCH, HEADS, SEQ, 8)
    query, key, value = (sine(shape, i, 2.0) for i in range(3))
    mask = padding_mask()
    mask[0] = 0
    bias = padding_bias(mask) if masked else None
    probabilities = attention_probabilities(query, key, bias)
    plain = np.einsum("bhqk,bhkd->bqhd", to_numpy(probabilities), value)
    fused = fused_attention(
        *(keras.ops.cast(each, dtype) for each in (query, key, value)), bias
    )
    assert keras.backend.standardize_dtype(fused.dtype) == dtype
    fused = to_numpy(keras.ops.cast(fused, "float32"))
    assert np.isfinite(fused).all()
    # float16 cannot tell how far below the others a masked key is, so the
    # first row, masked altogether, is another average there.
    start = int(masked and dtype == "float16")
    np.testing.assert_allclose(fused[start:], plain[start:], atol=tolerance)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_probabilities_are_float32_whatever_the_policy(dtype):
    with policy(dtype):
        _, probabilities = attention()(states(), return_attention_scores=True)
    assert keras.backend.standardize_dtype(probabilities.dtype) == "float32"
    np.testing.assert_allclose(to_numpy(probabilities).sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("mask", [None, padding_mask()])
@pytest.mark.parametrize("training", [False, True])
def test_the_first_token_alone_equals_the_first_of_all(mask, training):
    layer = attention()
    alone = layer(
        states(), padding_mask=mask, first_token_only=True, training=training
    )
    every = layer(states(), padding_mask=mask, training=training)
    assert alone.shape == (BATCH, 1, HIDDEN)
    np.testing.assert_allclose(
        to_numpy(alone), to_numpy(every)[:, :1], atol=1e-6
    )


def test_the_first_token_drops_what_the_others_would():
    """Where values are 1, its output is the sum of the weights that stay."""
    layer = attention(dropout=0.5)
    layer.value_dense.set_weights([np.zeros((HIDDEN, HIDDEN)), np.ones(HIDDEN)])
    layer.output_dense.set_weights([np.eye(HIDDEN), np.zeros(HIDDEN)])
    x = np.tile(states()[:1], (64, 1, 1))
    kept, probabilities = layer(
        x, first_token_only=True, return_attention_scores=True, training=True
    )
    np.testing.assert_allclose(to_numpy(probabilities).sum(-1), 1, atol=1e-6)
    kept = to_numpy(kept)
    assert kept.std() > 0.1
    assert kept.mean() == pytest.approx(1.0, abs=0.1)
    # Each head has its own: as many values as heads in each example.
    heads = kept.reshape(64, HEADS, -1)
    np.testing.assert_allclose(heads, heads[..., :1].repeat(heads.shape[-1], 2))


def test_symbolic_outputs_state_what_the_call_returns():
    x = keras.Input((SEQ, HIDDEN), batch_size=BATCH)
    output, scores = attention()(
        x, first_token_only=True, return_attention_scores=True
    )
    assert output.shape == (BATCH, 1, HIDDEN)
    assert scores.shape == (BATCH, HEADS, 1, SEQ)


def test_one_token_attends_to_itself():
    _, probabilities = attention()(states(seq=1), return_attention_scores=True)
    np.testing.assert_array_equal(to_numpy(probabilities), 1)


def test_a_position_bias_is_added_to_the_scores():
    query, key = sine((2, 2, 3, 4)), sine((2, 2, 5, 4), 0.7)
    bias = sine((1, 2, 3, 5), 0.2)
    scores = np.einsum("bhqd,bhkd->bhqk", query, key) / 2 + bias
    np.testing.assert_allclose(
        to_numpy(
            attention_probabilities(
                *map(keras.ops.convert_to_tensor, (query, key, bias))
            )
        ),
        numpy_reference.softmax(scores.astype("float64")),
        atol=1e-6,
    )


def test_a_position_bias_and_a_mask_work_together():
    far = np.zeros((1, 1, SEQ, SEQ), "float32")
    far[..., 0] = 50.0  # everybody looks at the first token
    mask = padding_mask()
    mask[:, 0] = 0  # ... which is padding
    output, probabilities = attention()(
        states(),
        padding_mask=mask,
        position_bias=far,
        return_attention_scores=True,
    )
    np.testing.assert_array_equal(to_numpy(probabilities)[..., 0], 0)
    first = attention()(
        states(), padding_mask=mask, position_bias=far, first_token_only=True
    )
    np.testing.assert_allclose(
        to_numpy(first), to_numpy(output)[:, :1], atol=1e-6
    )


def test_rotate_is_applied_to_queries_and_keys():
    seen = []

    def rotate(tensor):
        seen.append(tuple(tensor.shape))
        return 0.0 * tensor

    _, probabilities = attention()(
        states(), rotate=rotate, return_attention_scores=True
    )
    assert seen == [(BATCH, HEADS, SEQ, HIDDEN // HEADS)] * 2
    np.testing.assert_allclose(to_numpy(probabilities), 1 / SEQ, atol=1e-6)


def test_dropout_acts_in_training_only():
    layer = attention(dropout=0.5)
    at_rest = to_numpy(layer(states(), training=False))
    np.testing.assert_array_equal(
        to_numpy(attention()(states(), training=True)), at_rest
    )
    assert not np.allclose(to_numpy(layer(states(), training=True)), at_rest)


def test_returned_probabilities_are_those_before_dropout():
    _, probabilities = attention(dropout=0.5)(
        states(), return_attention_scores=True, training=True
    )
    np.testing.assert_allclose(to_numpy(probabilities).sum(-1), 1, atol=1e-6)


def test_each_projection_starts_with_numbers_of_its_own():
    layer = SelfAttention(2, kernel_initializer="random_normal")
    layer.build((None, None, 8))
    kernels = [w.numpy() for w in layer.weights if w.name == "kernel"]
    for index, kernel in enumerate(kernels):
        for other in kernels[:index]:
            assert not np.allclose(kernel, other)


def test_no_mask_is_no_bias():
    assert padding_bias(None) is None


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="hidden_dim=30, num_heads=4"):
        SelfAttention(4).build((None, None, 30))


@pytest.mark.parametrize("num_heads", [0, -2, 2.0, True, None, "2"])
def test_a_number_of_heads_that_is_no_number_is_refused(num_heads):
    with pytest.raises(ValueError, match="`num_heads` must be an integer"):
        SelfAttention(num_heads)


@pytest.mark.parametrize("dropout", [1.0, 1, -0.1, True, "0.1", None])
def test_a_dropout_out_of_range_is_refused(dropout):
    with pytest.raises(ValueError, match=r"`dropout` must be a number in \[0"):
        SelfAttention(2, dropout=dropout)
