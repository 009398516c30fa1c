import json
import re
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_encoder.checkpoints import tensorflow as tensorflow_files
from keras_encoder.checkpoints.errors import CheckpointError
from tests.keras_encoder.checkpoints.references import (
    TOKENS,
    assert_encoder_same,
    bert,
    random_inputs,
    write_vocabulary,
)

CKPT = "bert_model.ckpt"
QUERY = "bert/encoder/layer_1/attention/self/query/kernel"
OPTIMIZER = {"global_step": np.array(7)}


def tf1_variables(model):
    """The weights of a BertForPreTraining under the names of Google's code."""
    variables = {}
    for name, tensor in model.state_dict().items():
        array = tensor.numpy()
        name = re.sub(r"layer\.(\d+)", r"layer_\1", name).replace(".", "/")
        if re.search("LayerNorm/weight", name):
            name = name.replace("/weight", "/gamma")
        elif re.search("LayerNorm/bias", name):
            name = name.replace("/bias", "/beta")
        elif name.endswith("embeddings/weight"):
            name = name.removesuffix("/weight")
        elif name == "cls/predictions/bias":
            name = "cls/predictions/output_bias"
        elif name.startswith("cls/seq_relationship/"):
            name = name.replace("/weight", "/output_weights")
            name = name.replace("/bias", "/output_bias")
        elif name.endswith("/weight"):
            name, array = name.removesuffix("weight") + "kernel", array.T
        if "position_ids" not in name and "decoder" not in name:
            variables[name] = array
            variables[f"{name}/adam_m"] = np.full_like(array, 9)
            variables[f"{name}/adam_v"] = np.full_like(array, 9)
    return variables


def write_folder(folder, model, change=lambda variables: None):
    """Writes what the release of 2018 has."""
    variables = {**tf1_variables(model), **OPTIMIZER}
    change(variables)
    tf.raw_ops.SaveV2(
        prefix=str(folder / CKPT),
        tensor_names=list(variables),
        shape_and_slices=[""] * len(variables),
        tensors=list(variables.values()),
    )
    config = model.config.to_dict()
    keys = """attention_probs_dropout_prob hidden_act hidden_dropout_prob
        hidden_size initializer_range intermediate_size max_position_embeddings
        num_attention_heads num_hidden_layers type_vocab_size vocab_size"""
    config = {key: config[key] for key in keys.split()}
    (folder / "bert_config.json").write_text(json.dumps(config))
    write_vocabulary(folder / "vocab.txt")


def test_states_are_those_of_the_same_weights_in_transformers(tmp_path):
    model = bert("BertForPreTraining")
    write_folder(tmp_path, model)
    encoder, report = tensorflow_files.load_encoder(tmp_path)
    assert_encoder_same(encoder, model.bert, random_inputs())
    assert not report.missing


def test_only_the_pretraining_heads_have_no_use(tmp_path):
    write_folder(tmp_path, bert("BertForPreTraining"))
    _, report = tensorflow_files.load_encoder(tmp_path)
    assert set(report.unexpected) == {
        "cls.predictions.bias",
        "cls.predictions.transform.LayerNorm.bias",
        "cls.predictions.transform.LayerNorm.weight",
        "cls.predictions.transform.dense.bias",
        "cls.predictions.transform.dense.weight",
        "cls.seq_relationship.bias",
        "cls.seq_relationship.weight",
    }


def test_tensors_of_the_heads_are_those_of_transformers(tmp_path):
    model = bert("BertForPreTraining")
    write_folder(tmp_path, model)
    tensors = tensorflow_files.read_tensors(str(tmp_path / CKPT))
    for name, tensor in model.state_dict().items():
        if name.startswith("cls.") and "decoder" not in name:
            np.testing.assert_array_equal(tensors[name](), tensor.numpy())


def test_arguments_win_over_the_config(tmp_path):
    write_folder(tmp_path, bert("BertForPreTraining"))
    encoder, _ = tensorflow_files.load_encoder(tmp_path, dropout=0.25)
    assert encoder.dropout == 0.25


@pytest.mark.parametrize(
    ("capital", "lowercase"), [(True, False), (False, True)]
)
def test_the_case_of_the_vocabulary_decides_on_lower_casing(
    tmp_path, capital, lowercase
):
    tokens = TOKENS if capital else [t.replace("Z", "z") for t in TOKENS]
    write_vocabulary(tmp_path / "vocab.txt", tokens)
    tokenizer = tensorflow_files.load_tokenizer(tmp_path)
    assert tokenizer.backend.normalizer.lowercase is lowercase


def test_a_tokenizer_config_wins_over_the_vocabulary(tmp_path):
    write_vocabulary(tmp_path / "vocab.txt")
    path = tmp_path / "tokenizer_config.json"
    path.write_text('{"do_lower_case": true}')
    tokenizer = tensorflow_files.load_tokenizer(tmp_path)
    assert tokenizer.backend.normalizer.lowercase


def test_newer_weights_in_the_folder_are_preferred(tmp_path):
    write_folder(tmp_path, bert("BertForPreTraining"))
    assert tensorflow_files.is_in(tmp_path)
    (tmp_path / "model.safetensors").touch()
    assert not tensorflow_files.is_in(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda v: v.pop(QUERY),
            "encoder.layer.1.attention.self.query.weight' is missing",
        ),
        (
            lambda v: v.update({QUERY: np.ones((8, 9), "float32")}),
            r"encoder.layer.1.attention.self.query.weight' has the shape "
            r"\(9, 8\)",
        ),
        (
            lambda v: v.update({QUERY.replace("1", "9"): np.ones((8, 8))}),
            "encoder.layer.9.attention.self.query.weight' is a tensor",
        ),
        (
            lambda v: v.update(_CHECKPOINTABLE_OBJECT_GRAPH=np.array(1)),
            "TensorFlow 2",
        ),
    ],
    ids=["missing", "shape", "unknown", "objects"],
)
def test_a_damaged_variable_is_named(tmp_path, change, message):
    write_folder(tmp_path, bert("BertForPreTraining"), change)
    with pytest.raises(CheckpointError, match=f"{CKPT}: .*{message}"):
        tensorflow_files.load_encoder(tmp_path)


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "pointer", "garbage"])
def test_a_damaged_file_is_named(tmp_path, suffix, damage):
    write_folder(tmp_path, bert("BertForPreTraining"))
    path = tmp_path / (CKPT + suffix)
    content = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "truncated": content[: len(content) // 2],
            "pointer": b"version https://git-lfs.github.com/spec/v1\n",
            "garbage": bytes(255 - byte for byte in content),
        }[damage]
    )
    with pytest.raises(CheckpointError, match=CKPT):
        tensorflow_files.load_encoder(tmp_path)


def test_a_missing_data_file_is_an_error(tmp_path):
    write_folder(tmp_path, bert("BertForPreTraining"))
    (tmp_path / f"{CKPT}.data-00000-of-00001").unlink()
    with pytest.raises(CheckpointError, match=CKPT):
        tensorflow_files.load_encoder(tmp_path)


def test_several_checkpoints_are_listed(tmp_path):
    write_folder(tmp_path, bert("BertForPreTraining"))
    (tmp_path / f"{CKPT}.index").rename(tmp_path / "model.ckpt-10.index")
    (tmp_path / "model.ckpt-20.index").touch()
    with pytest.raises(CheckpointError, match="ckpt-10.index, model.ckpt-20"):
        tensorflow_files.load_encoder(tmp_path)


def test_without_tensorflow_the_install_command_is_said(tmp_path, monkeypatch):
    write_folder(tmp_path, bert("BertForPreTraining"))
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(CheckpointError, match=r"keras-encoder\[tensorflow\]"):
        tensorflow_files.load_encoder(tmp_path)
