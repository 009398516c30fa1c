import json

import numpy as np
import pytest
import transformers

from keras_encoder.checkpoints.config import huggingface_config
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import (
    encoder_tensors,
    load_encoder,
    save_tensors,
)
from tests.keras_encoder.bert_folders import (
    bert_folder,
    change_config,
    read_tensors,
    write_tensors,
)
from tests.keras_encoder.checkpoints.references import random_inputs
from tests.keras_encoder.fixed_weights import UNLIKE_BERT, tiny_encoder
from tests.keras_encoder.layer_contract import to_numpy
from tests.keras_encoder.parity import assert_equals_transformers

QUERY = "encoder.layer.1.attention.self.query.weight"
WIDE = "encoder.layer.1.intermediate.dense.weight"


@pytest.fixture
def folder(tmp_path):
    bert_folder(tmp_path)
    return tmp_path


def weights_in(folder):
    encoder, _ = load_encoder(folder)
    return encoder_tensors(encoder)


def assert_loads_the_same(folder, expected):
    found = weights_in(folder)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def rename(folder, new_name):
    tensors = read_tensors(folder)
    write_tensors(folder, {new_name(n): a for n, a in tensors.items()})


def test_every_tensor_lands_in_its_place(folder):
    tensors = read_tensors(folder)
    assert_loads_the_same(folder, tensors)
    _, report = load_encoder(folder)
    assert sorted(report.matched) == sorted(tensors)
    assert report.missing == report.unexpected == ()


@pytest.mark.parametrize(
    "prefix",
    ["bert.", "module.", "model.", "module.bert.", "module.model.bert."],
)
def test_known_prefixes_make_no_difference(folder, prefix):
    expected = read_tensors(folder)
    rename(folder, lambda name: prefix + name)
    assert_loads_the_same(folder, expected)


def test_an_unknown_prefix_is_an_error_that_names_a_tensor(folder):
    rename(folder, lambda name: f"foo.{name}")
    with pytest.raises(CheckpointError) as raised:
        load_encoder(folder)
    message = str(raised.value)
    assert "'embeddings.word_embeddings.weight' is missing" in message
    assert "foo.embeddings.LayerNorm.bias" in message


def test_the_same_tensor_twice_is_an_error(folder):
    tensors = read_tensors(folder)
    write_tensors(folder, {**tensors, f"bert.{QUERY}": tensors[QUERY]})
    with pytest.raises(CheckpointError, match=f"two tensors .* '{QUERY}'"):
        load_encoder(folder)


@pytest.mark.parametrize(
    "name",
    [QUERY, "embeddings.LayerNorm.bias", "encoder.layer.0.output.dense.bias"],
)
def test_a_missing_tensor_is_an_error_that_names_it(folder, name):
    tensors = read_tensors(folder)
    del tensors[name]
    write_tensors(folder, tensors)
    with pytest.raises(CheckpointError, match=f"'{name}' is missing"):
        load_encoder(folder)


def test_a_transposed_tensor_is_an_error_that_names_both_shapes(folder):
    tensors = read_tensors(folder)
    write_tensors(folder, {**tensors, WIDE: tensors[WIDE].T})
    with pytest.raises(CheckpointError) as raised:
        load_encoder(folder)
    message = str(raised.value)
    assert f"{WIDE!r} has the shape (8, 12), expected (12, 8)" in message


def test_a_config_that_fits_other_tensors_is_an_error(folder):
    change_config(folder, vocab_size=24)
    with pytest.raises(CheckpointError, match=r"\(23, 8\), expected \(24, 8\)"):
        load_encoder(folder)


@pytest.mark.parametrize("layers", [(0,), (1,), (0, 1)])
def test_gamma_and_beta_are_weight_and_bias_of_a_norm(folder, layers):
    expected = read_tensors(folder)
    old = {"weight": "gamma", "bias": "beta"}

    def new_name(name):
        *path, kind = name.split(".")
        is_in = path[:2] != ["encoder", "layer"] or int(path[2]) in layers
        if path[-1] == "LayerNorm" and is_in:
            kind = old[kind]
        return ".".join([*path, kind])

    rename(folder, new_name)
    assert any("gamma" in name for name in read_tensors(folder))
    assert_loads_the_same(folder, expected)


def test_names_that_only_contain_gamma_or_beta_stay_as_they_are(folder):
    tensors = read_tensors(folder)
    extra = np.ones(2, "float32")
    extras = {"head.alphabeta.weight": extra, "head.gamma": extra}
    write_tensors(folder, {**tensors, **extras})
    _, report = load_encoder(folder)
    assert report.unexpected == tuple(sorted(extras))
    assert "head.alphabeta.weight" in str(report)


def test_a_missing_pooler_is_loaded_around_and_said(folder):
    expected = {
        name: array
        for name, array in read_tensors(folder).items()
        if not name.startswith("pooler.")
    }
    write_tensors(folder, expected)
    encoder, report = load_encoder(folder)
    found = encoder_tensors(encoder, pooler=False)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert report.pooler_is_random
    assert "RANDOM, to be trained: pooler.dense.weight" in str(report)
    assert 0 < encoder.pooler.dense.kernel.numpy().std() < 0.03


def test_a_whole_checkpoint_has_no_random_pooler(folder):
    assert not load_encoder(folder)[1].pooler_is_random


@pytest.mark.parametrize(
    "name",
    ["encoder.layer.2.output.dense.bias", "embeddings.token_type.weight"],
)
def test_a_tensor_without_a_place_in_the_encoder_is_an_error(folder, name):
    extra = {name: np.ones(8, "float32")}
    write_tensors(folder, {**read_tensors(folder), **extra})
    with pytest.raises(CheckpointError, match=f"'{name}' .* no place for it"):
        load_encoder(folder)


def test_fewer_layers_than_the_checkpoint_has_is_an_error(folder):
    change_config(folder, num_hidden_layers=1)
    with pytest.raises(CheckpointError, match=r"encoder\.layer\.1.*\(1 layers"):
        load_encoder(folder)


def test_a_task_head_and_stored_position_ids_do_no_harm(folder):
    extras = {
        "bert.embeddings.position_ids": np.arange(11)[None],
        "cls.predictions.bias": np.ones(23, "float32"),
        "classifier.weight": np.ones((2, 8), "float32"),
    }
    tensors = {f"bert.{n}": a for n, a in read_tensors(folder).items()}
    write_tensors(folder, {**tensors, **extras})
    _, report = load_encoder(folder)
    assert report.unexpected == ("classifier.weight", "cls.predictions.bias")


def test_a_pre_training_model_of_transformers_loads(tmp_path):
    bert_folder(tmp_path)
    expected = read_tensors(tmp_path)
    model = transformers.BertForMaskedLM.from_pretrained(tmp_path)
    model.save_pretrained(tmp_path)
    encoder, report = load_encoder(tmp_path)
    found = encoder_tensors(encoder, pooler=False)
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
    assert report.pooler_is_random


def test_arguments_win_over_the_config(folder):
    encoder, _ = load_encoder(folder, dropout=0.4, dtype="mixed_bfloat16")
    assert encoder.dropout == encoder.embeddings.dropout == 0.4
    assert encoder.dtype_policy.name == "mixed_bfloat16"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_loaded_encoder_has_the_weights_in_its_own_dtype(folder, dtype):
    encoder, _ = load_encoder(folder, dtype=dtype)
    for name, array in encoder_tensors(encoder).items():
        expected = read_tensors(folder)[name]
        np.testing.assert_allclose(array, expected, rtol=2**-8)


@pytest.mark.parametrize("prefix", ["", "bert."])
@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu"])
def test_transformers_opens_what_is_saved(tmp_path, prefix, activation):
    encoder = tiny_encoder(activation=activation, layer_norm_epsilon=1e-5)
    save_tensors(encoder_tensors(encoder, prefix), tmp_path)
    (tmp_path / "config.json").write_text("{}")
    change_config(tmp_path, **huggingface_config(encoder))
    model, info = transformers.BertModel.from_pretrained(
        tmp_path,
        attn_implementation="eager",
        output_hidden_states=True,
        output_attentions=True,
        output_loading_info=True,
    )
    assert not any(info.values())
    assert_equals_transformers(encoder, model.double().eval(), random_inputs())


@pytest.mark.parametrize("kind", UNLIKE_BERT)
def test_what_is_no_bert_is_saved_and_loads_again(tmp_path, kind):
    encoder, inputs = tiny_encoder(**kind), random_inputs()
    expected = encoder_tensors(encoder)
    assert len(expected) == len(encoder.weights)
    save_tensors(expected, tmp_path)
    config = json.dumps(huggingface_config(encoder))
    (tmp_path / "config.json").write_text(config)
    assert_loads_the_same(tmp_path, expected)
    loaded, report = load_encoder(tmp_path, dropout=0.0, attention_dropout=0.0)
    assert report.missing == report.unexpected == ()
    assert loaded.get_config() | {"name": ""} == (
        encoder.get_config() | {"name": ""}
    )
    np.testing.assert_array_equal(
        to_numpy(loaded(inputs)["pooled_output"]),
        to_numpy(encoder(inputs)["pooled_output"]),
    )


def test_transformers_refuses_what_is_no_bert(tmp_path):
    encoder = tiny_encoder(positions="rotary")
    save_tensors(encoder_tensors(encoder), tmp_path)
    config = json.dumps(huggingface_config(encoder))
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match="keras_encoder"):
        transformers.AutoModel.from_pretrained(tmp_path)


def test_the_encoder_below_a_head_has_the_same_names(folder):
    from keras_encoder.heads import SequenceClassifier

    encoder, _ = load_encoder(folder, name="another_name")
    SequenceClassifier(encoder, 2, name="classifier")
    assert encoder_tensors(encoder).keys() == read_tensors(folder).keys()
