import json
import sys

import h5py
import numpy as np
import pytest
from keras import ops

from keras_encoder.checkpoints import keras_hub as keras_hub_files
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.keras_hub import save_keras_hub
from keras_encoder.tokenizer import Tokenizer
from tests.keras_encoder.checkpoints.references import (
    TOKENS,
    assert_same,
    random_inputs,
)
from tests.keras_encoder.fixed_weights import (
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    LAYERS,
    MAX_SEQ,
    VOCABULARY,
    set_sine_weights,
    tiny_encoder,
)

WEIGHTS = "model.weights.h5"
BLOCK = "layers/transformer_encoder_1/"
QUERY = f"{BLOCK}_self_attention_layer/query_dense/vars/0"


@pytest.fixture(scope="module")
def hub():
    return pytest.importorskip("keras_hub")


def backbone(hub, **config):
    return set_sine_weights(
        hub.models.BertBackbone(
            vocabulary_size=VOCABULARY,
            num_layers=LAYERS,
            num_heads=HEADS,
            hidden_dim=HIDDEN,
            intermediate_dim=INTERMEDIATE,
            max_sequence_length=MAX_SEQ,
            **config,
        )
    )


def our_encoder(**changes):
    return tiny_encoder(**{"activation": "gelu_tanh", **changes})


def save_ours(folder, **changes):
    tokenizer = Tokenizer.from_vocabulary(TOKENS, lowercase=False)
    save_keras_hub(our_encoder(**changes), tokenizer, folder)


def assert_encoder_same(encoder, theirs):
    inputs = random_inputs()
    ours, theirs = encoder(inputs), theirs(inputs)
    for name, mask in (
        ("sequence_output", inputs["padding_mask"]),
        ("pooled_output", None),
    ):
        assert_same(ours[name], ops.convert_to_numpy(theirs[name]), mask)


def edit_json(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_preset_gives_the_outputs_of_its_backbone(tmp_path, hub):
    theirs = backbone(hub, dropout=0.2)
    theirs.save_to_preset(tmp_path)
    encoder, report = keras_hub_files.load_encoder(tmp_path)
    assert_encoder_same(encoder, theirs)
    assert not report.missing
    assert (encoder.dropout, encoder.attention_dropout) == (0.2, 0.2)
    assert (encoder.activation, encoder.layer_norm_epsilon) == (
        "gelu_tanh",
        1e-12,
    )


def test_a_sharded_preset_is_read(tmp_path, hub):
    theirs = backbone(hub)
    theirs.save_to_preset(tmp_path, max_shard_size=3e-6)
    assert len([*tmp_path.glob("*.weights.h5")]) > 1
    encoder, _ = keras_hub_files.load_encoder(tmp_path)
    assert_encoder_same(encoder, theirs)


def test_a_preset_in_bfloat16_is_read(tmp_path, hub):
    theirs = backbone(hub, dtype="bfloat16")
    theirs.save_to_preset(tmp_path)
    encoder, _ = keras_hub_files.load_encoder(tmp_path)
    expected = theirs.token_embedding.embeddings
    np.testing.assert_array_equal(
        encoder.embeddings.token_embedding.embeddings.numpy(),
        np.array(expected.numpy().astype("float32")),
    )


def test_a_task_preset_gives_its_backbone(tmp_path, hub):
    theirs = backbone(hub)
    hub.models.BertTextClassifier(theirs, num_classes=3).save_to_preset(
        tmp_path
    )
    encoder, _ = keras_hub_files.load_encoder(tmp_path)
    assert_encoder_same(encoder, theirs)


def test_keras_hub_opens_what_is_saved(tmp_path, hub):
    encoder = our_encoder()
    save_keras_hub(encoder, None, tmp_path / "new")
    theirs = hub.models.Backbone.from_preset(str(tmp_path / "new"))
    assert_encoder_same(encoder, theirs)


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_tokenizers_split_alike_both_ways(
    tmp_path, hub, lowercase, strip_accents
):
    tokens = [*TOKENS, "zürich", "zurich", "Zurich"]
    ours = Tokenizer.from_vocabulary(tokens, lowercase, strip_accents)
    save_keras_hub(our_encoder(), ours, tmp_path)
    theirs = hub.models.BertTokenizer.from_preset(str(tmp_path))
    copy = keras_hub_files.load_tokenizer(tmp_path)
    for text in ("Zürich newspaper", "zürich, NEWS"):
        expected = ours.encode([text])[0].ids
        assert copy.encode([text])[0].ids == expected
        assert [*map(int, theirs(text))] == expected[1:-1]


def test_a_name_is_fetched_through_keras_hub(tmp_path, hub):
    theirs = backbone(hub)
    theirs.save_to_preset(tmp_path)
    hub.models.BertTokenizer(TOKENS).save_to_preset(tmp_path)
    with keras_hub_files.open_preset(str(tmp_path)) as folder:
        encoder, _ = keras_hub_files.load_encoder(folder)
        tokenizer = keras_hub_files.load_tokenizer(folder)
    assert_encoder_same(encoder, theirs)
    assert tokenizer.vocabulary_size == VOCABULARY


def test_a_name_that_keras_hub_does_not_know_is_named(tmp_path, hub):
    with pytest.raises(CheckpointError, match="keras_hub:/no/such cannot be"):
        with keras_hub_files.open_preset("/no/such"):
            pass


def test_without_keras_hub_the_install_command_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    with pytest.raises(CheckpointError, match=r"keras-encoder\[keras-nlp\]"):
        with keras_hub_files.open_preset("bert_tiny_en_uncased"):
            pass


@pytest.mark.parametrize(
    "change",
    [
        {"activation": "gelu"},
        {"activation": "relu"},
        {"norm_first": True},
        {"positions": "rotary"},
        {"norm": "rms_norm"},
        {"layer_norm_epsilon": 1e-6},
    ],
)
def test_what_keras_hub_cannot_compute_is_not_saved(tmp_path, change):
    name = next(iter(change))
    with pytest.raises(CheckpointError, match=f"has {name}="):
        save_keras_hub(our_encoder(**change), None, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_other_special_tokens_are_not_saved(tmp_path):
    tokens = ["<pad>", *TOKENS]
    tokenizer = Tokenizer.from_vocabulary(
        tokens, special_tokens={"pad_token": "<pad>"}
    )
    with pytest.raises(CheckpointError, match="special tokens.*<pad>"):
        save_keras_hub(our_encoder(), tokenizer, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(class_name="RobertaBackbone"), "RobertaBackbone"),
        (lambda c: c.update(config=3), "expected KerasHub's BertBackbone"),
        (lambda c: c["config"].pop("num_heads"), "missing num_heads"),
        (lambda c: c["config"].update(num_heads=3), "num_heads"),
    ],
)
def test_a_config_that_cannot_be_is_refused(tmp_path, change, message):
    save_ours(tmp_path)
    edit_json(tmp_path / "config.json", change)
    with pytest.raises(CheckpointError, match=f"config.json: .*{message}"):
        keras_hub_files.load_encoder(tmp_path)


def test_another_number_of_heads_is_refused(tmp_path):
    save_ours(tmp_path)
    edit_json(
        tmp_path / "config.json", lambda c: c["config"].update(num_heads=4)
    )
    with pytest.raises(CheckpointError, match="expected 4 heads, found 2"):
        keras_hub_files.load_encoder(tmp_path)


def delete(file, name):
    del file[name]


def replace(file, name, array):
    del file[name]
    file[name] = array


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: delete(f, QUERY),
            "encoder.layer.1.attention.self.query.weight' is missing",
        ),
        (
            lambda f: replace(f, QUERY, np.ones((2, 4, 8))),
            f"{QUERY}' cannot be read",
        ),
        (
            lambda f: replace(f, QUERY, np.ones(2)),
            f"{QUERY}' cannot be read",
        ),
        (
            lambda f: replace(f, QUERY, np.ones((9, 2, 4))),
            r"self.query.weight' has the shape \(8, 9\)",
        ),
        (
            lambda f: f.move(BLOCK, BLOCK.replace("1", "7")),
            "transformer_encoder_7/.* has no place",
        ),
        (
            lambda f: replace(f, QUERY, h5py.ExternalLink("/x.h5", "/a")),
            "query.weight' is missing",
        ),
        (
            lambda f: (
                delete(f, QUERY),
                f.create_dataset(
                    QUERY, (8, 2, 4), "f4", external=[("/etc/passwd", 0, 256)]
                ),
            ),
            "is in another file",
        ),
    ],
    ids="gone transposed flat shape unknown link external".split(),
)
def test_a_damaged_dataset_is_named(tmp_path, change, message):
    save_ours(tmp_path)
    with h5py.File(tmp_path / WEIGHTS, "r+") as file:
        change(file)
    with pytest.raises(CheckpointError, match=message):
        keras_hub_files.load_encoder(tmp_path)


@pytest.mark.parametrize("damage", ["empty", "truncated", "pointer", "text"])
def test_a_damaged_file_is_named(tmp_path, damage):
    save_ours(tmp_path)
    path = tmp_path / WEIGHTS
    content = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "truncated": content[: len(content) // 2],
            "pointer": b"version https://git-lfs.github.com/spec/v1\n",
            "text": b"no weights",
        }[damage]
    )
    with pytest.raises(CheckpointError, match=WEIGHTS):
        keras_hub_files.load_encoder(tmp_path)


def test_an_index_that_points_outside_its_folder_is_refused(tmp_path):
    save_ours(tmp_path)
    (tmp_path / WEIGHTS).unlink()
    (tmp_path / "model.weights.json").write_text(
        '{"weight_map": {"/layers/dense/vars": ["../other.weights.h5"]}}'
    )
    with pytest.raises(CheckpointError, match="outside its folder"):
        keras_hub_files.load_encoder(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "expected the config"), ('{"class_name": "X"}', "found 'X'")],
)
def test_a_damaged_tokenizer_is_named(tmp_path, content, message):
    save_ours(tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(CheckpointError, match=f"tokenizer.json: .*{message}"):
        keras_hub_files.load_tokenizer(tmp_path)
