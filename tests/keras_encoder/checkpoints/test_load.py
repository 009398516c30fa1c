import json

import huggingface_hub
import numpy as np
import pytest
import torch

from keras_encoder import Encoder
from keras_encoder.checkpoints import locate
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.keras_hub import save_keras_hub
from keras_encoder.checkpoints.load import (
    load_encoder,
    load_encoder_only,
    longest_input,
)
from keras_encoder.checkpoints.save_heads import save_head
from keras_encoder.heads import SequenceClassifier
from keras_encoder.tokenizer import Tokenizer
from tests.keras_encoder.checkpoints.references import (
    BERT,
    TOKENS,
    assert_encoder_same,
    bert,
    distilbert,
    random_inputs,
    write_vocabulary,
)
from tests.keras_encoder.checkpoints.test_tensorflow import write_folder
from tests.keras_encoder.fixed_weights import tiny_encoder


def write_bert(folder, **config):
    model = bert(**config)
    model.save_pretrained(folder)
    write_vocabulary(folder / "vocab.txt")
    return model


def keep_keys(path, keys):
    config = json.loads(path.read_text())
    path.write_text(json.dumps({key: config[key] for key in keys}))


def test_a_size_has_random_weights_and_no_tokenizer():
    encoder, tokenizer, report = load_encoder("bert-tiny", dropout=0.3)
    assert (encoder.num_layers, encoder.hidden_dim) == (2, 128)
    assert encoder.vocabulary_size == 30522
    assert encoder.dropout == 0.3
    assert tokenizer is None
    assert not report.matched
    assert len(report.missing) == len(encoder.weights)
    assert report.source == "bert-tiny"
    assert longest_input("bert-tiny") == encoder.longest_input == 512


def test_a_hugging_face_folder_is_recognised(tmp_path):
    model = write_bert(tmp_path)
    encoder, tokenizer, report = load_encoder(tmp_path)
    assert_encoder_same(encoder, model, random_inputs())
    assert tokenizer.vocabulary_size == len(TOKENS)
    assert report.source == str(tmp_path)
    assert longest_input(tmp_path) == encoder.longest_input < 512


def test_a_distilbert_folder_is_recognised(tmp_path):
    model = distilbert()
    model.save_pretrained(tmp_path)
    write_vocabulary(tmp_path / "vocab.txt")
    encoder, tokenizer, _ = load_encoder(str(tmp_path))
    inputs = random_inputs(segments=1)
    assert_encoder_same(encoder, model, inputs, pooled=False, segments=False)
    assert longest_input(tmp_path) == encoder.longest_input < 512
    assert tokenizer.vocabulary_size == len(TOKENS)


def test_a_tensorflow_folder_is_recognised(tmp_path):
    model = bert("BertForPreTraining")
    write_folder(tmp_path, model)
    encoder, tokenizer, _ = load_encoder(tmp_path)
    assert_encoder_same(encoder, model.bert, random_inputs())
    assert not tokenizer.backend.normalizer.lowercase
    assert longest_input(tmp_path) == encoder.longest_input < 512


def test_a_keras_hub_folder_is_recognised(tmp_path):
    ours = tiny_encoder(activation="gelu_tanh")
    tokenizer = Tokenizer.from_vocabulary(TOKENS, lowercase=False)
    save_keras_hub(ours, tokenizer, tmp_path)
    encoder, copy, _ = load_encoder(tmp_path)
    for one, other in zip(ours.weights, encoder.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert copy.backend.get_vocab() == tokenizer.backend.get_vocab()
    assert longest_input(tmp_path) == encoder.longest_input < 512


def test_a_name_of_keras_hub_is_recognised(tmp_path):
    hub = pytest.importorskip("keras_hub")
    ours = tiny_encoder(activation="gelu_tanh")
    save_keras_hub(ours, None, tmp_path)
    hub.models.BertTokenizer(TOKENS).save_to_preset(tmp_path)
    spec = f"keras_hub:{tmp_path}"
    encoder, tokenizer, report = load_encoder(spec, dropout=0.3)
    assert encoder.dropout == 0.3
    assert tokenizer.vocabulary_size == len(TOKENS)
    assert report.source == spec


@pytest.mark.parametrize(
    "changes", [{}, {"norm_first": True}, {"positions": "rotary"}]
)
def test_a_model_folder_of_ours_is_recognised(tmp_path, changes):
    ours = tiny_encoder(**changes)
    save_head(SequenceClassifier(ours, 2), tmp_path, ["a", "b"], "regression")
    encoder, report = load_encoder_only(tmp_path)
    for one, other in zip(ours.weights, encoder.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert set(report.unexpected) == {"classifier.weight", "classifier.bias"}
    assert longest_input(tmp_path) == encoder.longest_input


def test_a_config_of_nothing_but_sizes_is_a_bert(tmp_path):
    model = write_bert(tmp_path)
    keep_keys(tmp_path / "config.json", BERT)
    encoder, _, _ = load_encoder(tmp_path)
    assert_encoder_same(encoder, model, random_inputs())


def test_a_folder_of_2019_is_a_bert(tmp_path):
    model = bert()
    state = {
        f"bert.{name}": weight for name, weight in model.state_dict().items()
    }
    torch.save(
        state,
        tmp_path / "pytorch_model.bin",
        _use_new_zipfile_serialization=False,
    )
    model.config.save_pretrained(tmp_path)
    (tmp_path / "config.json").rename(tmp_path / "bert_config.json")
    keep_keys(tmp_path / "bert_config.json", BERT)
    write_vocabulary(tmp_path / "vocab.txt")
    encoder, _, _ = load_encoder(tmp_path)
    assert_encoder_same(encoder, model, random_inputs())


def test_another_kind_of_model_is_refused_by_name(tmp_path):
    write_bert(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "model_type": "roberta"}))
    with pytest.raises(CheckpointError, match="found 'roberta'"):
        load_encoder(tmp_path)


@pytest.mark.parametrize("spec", ["bert-enormous", "/no/such/folder"])
def test_what_is_nowhere_is_named(spec):
    with pytest.raises(CheckpointError, match=f"'{spec}' is neither"):
        load_encoder(spec)


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(CheckpointError, match="config.json"):
        load_encoder(tmp_path)


def test_a_folder_without_vocabulary_gives_its_encoder_alone(tmp_path):
    write_bert(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    assert load_encoder_only(tmp_path)[0].num_layers
    with pytest.raises(CheckpointError, match="vocab.txt"):
        load_encoder(tmp_path)


def test_from_preset_gives_the_encoder(tmp_path):
    model = write_bert(tmp_path)
    encoder = Encoder.from_preset(tmp_path, dropout=0.25)
    assert_encoder_same(encoder, model, random_inputs())
    assert encoder.dropout == 0.25


def test_from_preset_warns_of_a_random_pooler(tmp_path):
    distilbert().save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="Random pooler"):
        Encoder.from_preset(tmp_path)


def test_from_preset_of_a_size_is_random_without_a_warning():
    assert Encoder.from_preset("bert-tiny").hidden_dim == 128


@pytest.mark.parametrize(
    ("files", "fetched"),
    [
        (["model.safetensors"], []),
        ([], [locate.OTHER_HUB_PATTERNS]),
    ],
)
def test_bin_files_are_fetched_where_a_hub_has_no_safetensors(
    tmp_path, monkeypatch, files, fetched
):
    asked = []

    def snapshot_download(repository, allow_patterns):
        asked.append(allow_patterns)
        for name in files:
            (tmp_path / name).touch()
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert locate.find_folder("hf://org/name") == tmp_path
    assert asked == [locate.HUB_PATTERNS, *fetched]
