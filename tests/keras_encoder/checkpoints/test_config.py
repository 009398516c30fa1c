import json

import pytest

from keras_encoder.checkpoints.config import (
    encoder_arguments,
    huggingface_config,
    read_config,
)
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.huggingface import load_encoder
from tests.keras_encoder.fixed_weights import UNLIKE_BERT, tiny_encoder

pytestmark = pytest.mark.backend_free

CONFIG = dict(
    model_type="bert",
    vocab_size=23,
    num_hidden_layers=3,
    num_attention_heads=2,
    hidden_size=8,
    intermediate_size=12,
)


def test_what_a_file_leaves_out_is_what_bert_has():
    assert encoder_arguments(CONFIG) == dict(
        vocabulary_size=23,
        num_layers=3,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        dropout=0.1,
        attention_dropout=0.1,
        max_sequence_length=512,
        num_segments=2,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        norm_first=False,
        positions="learned",
        norm="layer_norm",
    )


def test_what_a_file_says_is_honoured():
    config = dict(
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.3,
        max_position_embeddings=64,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        hidden_act="gelu_new",
    )
    found = encoder_arguments({**CONFIG, **config})
    assert found["dropout"] == 0.2
    assert found["attention_dropout"] == 0.3
    assert found["max_sequence_length"] == 64
    assert found["num_segments"] == 1
    assert found["layer_norm_epsilon"] == 1e-5
    assert found["activation"] == "gelu_tanh"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("gelu", "gelu"),
        ("gelu_python", "gelu"),
        ("gelu_new", "gelu_tanh"),
        ("gelu_pytorch_tanh", "gelu_tanh"),
        ("relu", "relu"),
    ],
)
def test_each_activation_has_its_name_here(theirs, ours):
    arguments = encoder_arguments({**CONFIG, "hidden_act": theirs})
    assert arguments["activation"] == ours


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(hidden_act="swoosh"), "found 'swoosh'"),
        (dict(hidden_act=["gelu"]), r"found \['gelu'\]"),
        (dict(hidden_act=None), "found None"),
        (dict(hidden_act="geglu"), "found 'geglu'"),
        (dict(model_type="roberta"), "found 'roberta'"),
        (dict(model_type=7), "found 7"),
        (dict(model_type=["bert"]), r"found \['bert'\]"),
        (dict(position_embedding_type="relative_key"), "found 'relative_key'"),
        (dict(is_decoder=True), "found is_decoder true"),
    ],
)
def test_a_model_of_another_kind_is_an_error(changes, message):
    with pytest.raises(CheckpointError, match=message) as raised:
        encoder_arguments({**CONFIG, **changes}, "some/config.json")
    assert str(raised.value).startswith("some/config.json: expected")


def test_missing_keys_are_named():
    config = {k: v for k, v in CONFIG.items() if k != "hidden_size"}
    with pytest.raises(CheckpointError, match="missing hidden_size"):
        encoder_arguments(config)


@pytest.mark.parametrize(
    "changes",
    [
        dict(vocab_size="23"),
        dict(hidden_size=None),
        dict(num_attention_heads=3),
        dict(num_hidden_layers=0),
        dict(hidden_dropout_prob=1.0),
        dict(hidden_dropout_prob="none"),
        dict(layer_norm_eps="small"),
        dict(layer_norm_eps=None),
        dict(model_type="keras_encoder", positions="spiral"),
        dict(model_type="keras_encoder", norm=None),
    ],
)
def test_a_value_that_no_encoder_can_have_is_an_error(tmp_path, changes):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, **changes}))
    with pytest.raises(CheckpointError, match=r"config\.json: "):
        load_encoder(tmp_path)


def test_no_config_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(CheckpointError, match=r"config\.json: no such file"):
        read_config(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe{}"])
def test_a_damaged_config_is_an_error_that_names_the_file(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"config\.json: expected"):
        read_config(tmp_path)


def test_a_byte_order_mark_does_no_harm(tmp_path):
    text = json.dumps(CONFIG)
    (tmp_path / "config.json").write_text(text, encoding="utf-8-sig")
    assert read_config(tmp_path) == CONFIG


@pytest.mark.parametrize(
    "kind",
    [
        dict(activation="gelu"),
        dict(activation="gelu_tanh", norm_first=True),
        dict(activation="relu", positions="rotary"),
        dict(activation="geglu", norm="rms_norm"),
        dict(norm_first=True, positions=None, activation="gelu_tanh"),
    ],
)
def test_a_written_config_gives_the_same_encoder(kind):
    encoder = tiny_encoder(
        **kind,
        dropout=0.2,
        attention_dropout=0.3,
        layer_norm_epsilon=1e-5,
        num_segments=3,
    )
    config = json.loads(json.dumps(huggingface_config(encoder)))
    arguments = encoder_arguments(config)
    assert arguments.items() <= encoder.get_config().items()


@pytest.mark.parametrize("kind", UNLIKE_BERT)
def test_transformers_is_not_told_that_another_encoder_is_a_bert(kind):
    assert huggingface_config(tiny_encoder())["model_type"] == "bert"
    other = huggingface_config(tiny_encoder(**kind))
    assert other["model_type"] == "keras_encoder"


def test_a_key_of_ours_means_nothing_in_a_bert():
    config = {**CONFIG, "norm_first": True, "positions": "rotary"}
    assert encoder_arguments(config) == encoder_arguments(CONFIG)
