import json

import pytest
from safetensors.numpy import load_file, save_file

from keras_encoder.checkpoints import distilbert as distilbert_files
from keras_encoder.checkpoints import torch_files
from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.load_heads import load_head
from keras_encoder.heads import MaskedLM
from tests.keras_encoder.checkpoints.references import (
    assert_encoder_same,
    assert_same,
    distilbert,
    outputs_of,
    random_inputs,
)


def load_masked(folder):
    return load_head(folder, MaskedLM)


def rewrite_tensors(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def edit_config(folder, change):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"activation": "relu"},
        {"sinusoidal_pos_embds": True},
    ],
)
def test_states_are_those_of_transformers(tmp_path, config):
    model = distilbert(**config)
    model.save_pretrained(tmp_path)
    encoder, report = distilbert_files.load_encoder(tmp_path)
    inputs = random_inputs(segments=1)
    assert_encoder_same(encoder, model, inputs, pooled=False, segments=False)
    assert report.pooler_is_random
    assert not report.unexpected


def test_a_task_head_is_left_out(tmp_path):
    model = distilbert("DistilBertForMaskedLM")
    model.save_pretrained(tmp_path)
    encoder, report = distilbert_files.load_encoder(tmp_path)
    inputs = random_inputs(segments=1)
    theirs = outputs_of(model.distilbert, inputs, segments=False)
    assert_same(
        encoder(inputs)["sequence_output"],
        theirs.last_hidden_state,
        inputs["padding_mask"],
    )
    assert "cls.predictions.transform.dense.weight" in report.unexpected


def test_bin_files_load_too(tmp_path):
    import torch

    model = distilbert()
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / torch_files.SINGLE)
    encoder, _ = distilbert_files.load_encoder(tmp_path)
    inputs = random_inputs(segments=1)
    assert_encoder_same(encoder, model, inputs, pooled=False, segments=False)


def test_the_config_is_translated(tmp_path):
    distilbert(dropout=0.2, attention_dropout=0.3).save_pretrained(tmp_path)
    encoder, _ = distilbert_files.load_encoder(tmp_path, attention_dropout=0.4)
    assert encoder.dropout == 0.2
    assert encoder.attention_dropout == 0.4
    assert encoder.num_segments == 1
    assert encoder.layer_norm_epsilon == 1e-12


def test_only_distilbert_is_taken(tmp_path):
    assert not distilbert_files.is_in(tmp_path)
    distilbert().save_pretrained(tmp_path)
    assert distilbert_files.is_in(tmp_path)
    edit_config(tmp_path, lambda config: config.update(model_type="bert"))
    assert not distilbert_files.is_in(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(activation="swoosh"), "found 'swoosh'"),
        (lambda c: c.pop("n_layers"), "missing n_layers"),
        (lambda c: c.update(n_heads=3), "num_heads"),
    ],
)
def test_a_config_that_cannot_be_is_refused(tmp_path, change, message):
    distilbert().save_pretrained(tmp_path)
    edit_config(tmp_path, change)
    with pytest.raises(CheckpointError, match=f"config.json: .*{message}"):
        distilbert_files.load_encoder(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.pop("transformer.layer.1.ffn.lin1.bias"),
            "encoder.layer.1.intermediate.dense.bias' is missing",
        ),
        (
            lambda t: t.update({"transformer.layer.0.ffn.lin3.bias": t["a"]}),
            "encoder.layer.0.ffn.lin3.bias' is a tensor of the encoder",
        ),
        (
            lambda t: t.update({"transformer.layer.1.ffn.lin1.bias": t["a"]}),
            r"encoder.layer.1.intermediate.dense.bias' has the shape \(11, 8\)",
        ),
    ],
    ids=["missing", "unknown", "shape"],
)
def test_a_damaged_tensor_is_named(tmp_path, change, message):
    distilbert().save_pretrained(tmp_path)

    def damage(tensors):
        tensors["a"] = tensors["embeddings.position_embeddings.weight"].copy()
        change(tensors)

    rewrite_tensors(tmp_path, damage)
    with pytest.raises(CheckpointError, match=message):
        distilbert_files.load_encoder(tmp_path)


@pytest.mark.parametrize("load", [distilbert_files.load_encoder, load_masked])
def test_two_tensors_of_one_name_are_refused(tmp_path, load):
    distilbert("DistilBertForMaskedLM").save_pretrained(tmp_path)

    def change(tensors):
        name = "embeddings.word_embeddings.weight"
        tensors[name] = 9 + tensors[f"distilbert.{name}"]

    rewrite_tensors(tmp_path, change)
    with pytest.raises(CheckpointError, match="two tensors have the name"):
        load(tmp_path)
