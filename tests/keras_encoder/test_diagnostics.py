"""Diagnostics against NumPy and known values."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_encoder import SequenceClassifier, TokenTagger
from keras_encoder.diagnostics import (
    activation_variances,
    attention_distances,
    attention_entropies,
    attributions,
    gradient_norms,
    largest_difference,
    parameter_table,
)
from pipelines.measuring.costs import parameters
from tests.keras_encoder import numpy_reference
from tests.keras_encoder.fixed_weights import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    LAYERS,
    MAX_SEQ,
    SEGMENTS,
    UNLIKE_BERT,
    VOCABULARY,
    encoder_inputs,
    set_sine_weights,
    sine,
    tiny_encoder,
)
from tests.keras_encoder.layer_contract import to_numpy
from tests.keras_encoder.training_step import gradients_of

LABELS = np.array([0, 1, 2])


def classifier(**arguments):
    model = SequenceClassifier(tiny_encoder(**arguments), 4, dropout=0.5)
    return set_sine_weights(model)


def cross_entropy(logits):
    losses = keras.losses.sparse_categorical_crossentropy(
        LABELS, logits, from_logits=True
    )
    return ops.mean(losses)


def test_gradient_norms_are_those_of_a_training_step():
    model = classifier()
    model.dropout_layer.rate = 0.0
    before = [weight.numpy() for weight in model.weights]
    found = gradient_norms(model, encoder_inputs(), cross_entropy)
    for weight, old in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), old)
    squares = dict.fromkeys(found, 0.0)
    for path, gradient in gradients_of(model, encoder_inputs(), LABELS):
        layer = next(
            (name for name in found if f"/{name}/" in f"/{path}"), "head"
        )
        squares[layer] += np.sum(gradient.astype("float64") ** 2)
    assert list(found) == ["embeddings", "block_0", "block_1", "pooler", "head"]
    for name, norm in found.items():
        np.testing.assert_allclose(norm, np.sqrt(squares[name]), rtol=1e-4)


def test_gradient_norms_of_the_head_equal_the_formula():
    """The gradient of a linear layer under a sum of its outputs."""
    model = classifier()
    inputs = encoder_inputs()
    found = gradient_norms(model, inputs, ops.sum)
    pooled = to_numpy(model.encoder(inputs)["pooled_output"]).sum(axis=0)
    kernel = np.repeat(pooled[:, None], 4, axis=1)
    bias = np.full(4, len(LABELS))
    expected = np.sqrt(np.sum(kernel**2) + np.sum(bias**2))
    np.testing.assert_allclose(found["head"], expected, rtol=1e-5)


def test_gradient_norms_leave_a_compiled_model_as_it_is():
    model = classifier()
    model.compile(optimizer=keras.optimizers.SGD(0.5), loss="mse")
    optimizer = model.optimizer
    gradient_norms(model, encoder_inputs(), cross_entropy)
    assert model.optimizer is optimizer


def test_a_layer_that_the_loss_does_not_read_has_no_gradient():
    found = gradient_norms(
        tiny_encoder(),
        encoder_inputs(),
        lambda outputs: ops.sum(outputs["encoder_outputs"][0]),
    )
    assert found["block_1"] == found["pooler"] == 0
    assert min(found["block_0"], found["embeddings"]) > 0


def test_frozen_layers_have_no_gradient_norm():
    model = classifier()
    model.encoder.embeddings.trainable = False
    model.encoder.blocks[0].trainable = False
    found = gradient_norms(model, encoder_inputs(), cross_entropy)
    assert list(found) == ["block_1", "pooler", "head"]


def test_gradient_norms_of_another_model_are_by_its_layers():
    """The chain rule through two linear layers without bias."""
    first, second = sine((4, 3), 0.1), sine((3, 1), 0.2)
    x = sine((5, 4), 0.3)
    inputs = keras.Input((4,), name="x")
    wide = keras.layers.Dense(3, use_bias=False, name="one")(inputs)
    outputs = keras.layers.Dense(1, use_bias=False, name="two")(wide)
    model = keras.Model({"x": inputs}, outputs)
    model.set_weights([first, second])
    found = gradient_norms(model, {"x": x}, ops.sum)
    expected = {
        "one": np.linalg.norm(np.outer(x.sum(axis=0), second)),
        "two": np.linalg.norm((x @ first).sum(axis=0)),
    }
    assert list(found) == list(expected)
    for name, norm in expected.items():
        assert found[name] == pytest.approx(norm, rel=1e-5)


def first_class(logits):
    return ops.sum(logits[..., 0])


@pytest.mark.parametrize("head", [SequenceClassifier, TokenTagger])
def test_attributions_equal_finite_differences(head):
    """Scaling a token's embedding by 1 +- h moves the logits as they say."""
    model = set_sine_weights(head(tiny_encoder(), 4, dropout=0.5))
    before = [weight.numpy() for weight in model.weights]
    inputs = encoder_inputs()
    found = attributions(model, inputs, first_class)
    for weight, old in zip(model.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), old)
    embeddings = to_numpy(model.encoder.embed(inputs))
    assert found.shape == embeddings.shape[:2]

    def logit(states):
        states = model.encoder.encode(
            states.astype("float32"), padding_mask=inputs["padding_mask"]
        )
        return to_numpy(model.head(states))[..., 0].astype("float64").sum()

    step = 1e-2
    for row, token in [(0, 0), (0, 3), (1, 2), (2, 1)]:
        moved = [embeddings.astype("float64") for _ in range(2)]
        moved[0][row, token] *= 1 + step
        moved[1][row, token] *= 1 - step
        expected = (logit(moved[0]) - logit(moved[1])) / (2 * step)
        assert found[row, token] == pytest.approx(expected, abs=2e-3)


def test_padding_adds_nothing_to_a_text():
    inputs = encoder_inputs()
    found = attributions(classifier(), inputs, first_class)
    padding = inputs["padding_mask"] == 0
    np.testing.assert_array_equal(found[padding], 0)
    assert np.abs(found[~padding]).min() > 0


def test_the_largest_difference_is_of_tensors_and_arrays():
    table = tiny_encoder().embeddings.token_embedding.embeddings
    array = table.numpy()
    array[3, 2] -= 0.5
    assert largest_difference(table, array) == pytest.approx(0.5)
    assert largest_difference(array, table[None]) == pytest.approx(0.5)
    array[0, 0] = np.nan
    assert np.isnan(largest_difference(table, array))


@pytest.mark.parametrize("norm_first", [False, True])
def test_activation_variances_are_those_of_the_real_states(norm_first):
    encoder, inputs = tiny_encoder(norm_first=norm_first), encoder_inputs()
    found = activation_variances(encoder, inputs)
    outputs, real = encoder(inputs), inputs["padding_mask"] != 0
    blocks = [f"block_{i}" for i in range(LAYERS)]
    last = ["final_norm"] if norm_first else []
    assert list(found) == ["embeddings", *blocks, *last]
    states = [encoder.embed(inputs), *outputs["encoder_outputs"]]
    names = ["embeddings", *blocks[:-1], (blocks + last)[-1]]
    for name, state in zip(names, states, strict=True):
        expected = np.var(to_numpy(state)[real])
        np.testing.assert_allclose(found[name], expected, rtol=1e-5)


def test_a_layer_norm_of_unit_weights_has_variance_1():
    encoder = tiny_encoder()
    for block in encoder.blocks:
        block.feed_forward_norm.gamma.assign(np.ones(HIDDEN))
        block.feed_forward_norm.beta.assign(np.zeros(HIDDEN))
    found = activation_variances(encoder, encoder_inputs())
    assert found["block_0"] == pytest.approx(1, abs=1e-4)
    assert found["block_1"] == pytest.approx(1, abs=1e-4)


def test_attention_entropies_equal_their_formula():
    encoder, inputs = tiny_encoder(), encoder_inputs()
    weights = numpy_reference.weights_of(encoder)
    states = to_numpy(encoder.embed(inputs))
    mask = inputs["padding_mask"]
    _, scores = numpy_reference.attention(
        states, numpy_reference.below(weights, "block_0/attention"), 2, mask
    )
    found = attention_entropies(encoder, inputs)
    assert found.shape == (LAYERS, HEADS)
    for head in range(HEADS):
        entropies = []
        for row, length in enumerate(mask.sum(axis=1)):
            real = scores[row, head, :length, :length]
            entropies.extend(-(real * np.log(real)).sum(axis=-1))
        expected = np.mean(entropies)
        np.testing.assert_allclose(found[0, head], expected, atol=1e-5)


@pytest.mark.parametrize("with_mask", [True, False])
def test_attention_to_all_alike_has_the_entropy_of_the_length(with_mask):
    encoder, inputs = tiny_encoder(), encoder_inputs()
    for block in encoder.blocks:
        block.attention.query_dense.kernel.assign(np.zeros((HIDDEN, HIDDEN)))
        block.attention.query_dense.bias.assign(np.zeros(HIDDEN))
    lengths = inputs["padding_mask"].sum(axis=1)
    if not with_mask:
        del inputs["padding_mask"]
        lengths = np.full(3, 5)
    expected = np.average(np.log(lengths), weights=lengths)
    np.testing.assert_allclose(
        attention_entropies(encoder, inputs), expected, atol=1e-6
    )


def test_attention_to_one_token_has_no_entropy():
    inputs = {"token_ids": np.array([[3], [7]])}
    found = attention_entropies(tiny_encoder(), inputs)
    np.testing.assert_array_equal(found, np.zeros((LAYERS, HEADS)))


def test_attention_distances_equal_their_formula():
    encoder, inputs = tiny_encoder(), encoder_inputs()
    found = attention_distances(encoder, inputs)
    scores = encoder(inputs, return_attention_scores=True)["attention_scores"]
    for layer in range(LAYERS):
        for head in range(HEADS):
            distances = []
            for row, length in enumerate(inputs["padding_mask"].sum(axis=1)):
                for query in range(length):
                    shares = to_numpy(scores[layer])[row, head, query]
                    distances.append(
                        sum(
                            p * abs(query - key) for key, p in enumerate(shares)
                        )
                    )
            expected = np.mean(distances)
            assert found[layer, head] == pytest.approx(expected, rel=1e-5)


def test_a_token_alone_looks_no_distance():
    inputs = {"token_ids": np.array([[3], [7]])}
    found = attention_distances(tiny_encoder(), inputs)
    np.testing.assert_array_equal(found, np.zeros((LAYERS, HEADS)))


@pytest.mark.parametrize("kind", [{}, *UNLIKE_BERT])
def test_the_parameter_table_is_that_of_the_sizes(kind):
    encoder = tiny_encoder(**kind)
    size = dict(
        vocabulary_size=VOCABULARY,
        num_layers=LAYERS,
        num_heads=HEADS,
        hidden_dim=HIDDEN,
        intermediate_dim=INTERMEDIATE,
        max_sequence_length=MAX_SEQ,
        num_segments=SEGMENTS,
    )
    table = parameter_table(encoder)
    counts = {name: count for name, (count, _) in table.items()}
    assert counts == parameters({**size, **kind})
    assert sum(share for _, share in table.values()) == pytest.approx(1)
    count, share = table["attention"]
    assert share == count / encoder.count_params()


def test_a_head_has_a_row_of_its_own():
    model = classifier()
    assert parameter_table(model)["head"][0] == HIDDEN * 4 + 4
