"""Heads of pretraining and question answering against transformers' own."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file, save_file

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.load_heads import (
    head_of,
    load_head,
    restore_head,
)
from keras_encoder.checkpoints.save_heads import save_head
from keras_encoder.heads import MaskedLM, NextSentence, Pretraining, Span
from tests.keras_encoder.checkpoints.references import (
    assert_same,
    bert,
    distilbert,
    outputs_of,
    random_inputs,
)
from tests.keras_encoder.fixed_weights import (
    VOCABULARY,
    set_sine_weights,
    tiny_encoder,
)

# Our head -> transformers' name of each of our outputs.
OUTPUTS = {
    MaskedLM: {None: "logits"},
    NextSentence: {None: "logits"},
    Pretraining: {
        "masked_lm": "prediction_logits",
        "next_sentence": "seq_relationship_logits",
    },
    Span: {"start_logits": "start_logits", "end_logits": "end_logits"},
}
HEADS = pytest.mark.parametrize("head", OUTPUTS)
EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
DECODER = "cls.predictions.decoder"
DENSE = "cls.predictions.transform.dense.weight"


def assert_outputs_same(model, theirs, segments=True):
    inputs = random_inputs(segments=2 if segments else 1)
    found = model(inputs)
    expected = outputs_of(theirs.eval(), inputs, segments)
    for ours, name in OUTPUTS[type(model)].items():
        result = found if ours is None else found[ours]
        # A state of padding means nothing, and spans never lie there.
        by_token = result.shape[:2] == inputs["padding_mask"].shape
        mask = inputs["padding_mask"] if by_token else None
        assert_same(result, expected[name], mask)


def edit_tensors(folder, edit):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path, {"format": "pt"})


@HEADS
@pytest.mark.parametrize("form", ["safetensors", "bin", "no prefix"])
def test_a_model_of_transformers_gives_its_logits(tmp_path, head, form):
    theirs = bert(head.architecture, hidden_act="relu", layer_norm_eps=0.01)
    theirs.save_pretrained(tmp_path)
    if form == "bin":  # with the decoder's copies, as older versions wrote
        (tmp_path / "model.safetensors").unlink()
        torch.save(theirs.state_dict(), tmp_path / "pytorch_model.bin")
    if form == "no prefix":

        def strip(tensors):
            for name in list(tensors):
                tensors[name.removeprefix("bert.")] = tensors.pop(name)

        edit_tensors(tmp_path, strip)
    assert head_of(tmp_path) is head
    model, labels, report = load_head(tmp_path, head)
    assert labels == ()
    assert_outputs_same(model, theirs)
    assert not report.unexpected
    assert {*model.tensors()} <= {*report.matched}
    if head.reads_pooler:
        assert not report.missing


@HEADS
def test_transformers_opens_what_was_saved(tmp_path, head):
    model = set_sine_weights(head(tiny_encoder(activation="gelu_tanh")))
    save_head(model, tmp_path)
    cls = getattr(transformers, head.architecture)
    theirs, info = cls.from_pretrained(tmp_path, output_loading_info=True)
    assert_outputs_same(model, theirs)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert theirs.config.architectures == [head.architecture]


@HEADS
def test_a_head_on_a_pre_norm_encoder_comes_back(tmp_path, head):
    model = set_sine_weights(head(tiny_encoder(norm_first=True)))
    save_head(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["architectures"] == [head.__name__]
    assert head_of(tmp_path) is head
    loaded, _, report = load_head(tmp_path, head)
    assert not report.unexpected
    for ours, copy in zip(model.weights, loaded.weights, strict=True):
        if "pooler" not in ours.path or head.reads_pooler:
            np.testing.assert_array_equal(ours.numpy(), copy.numpy())


def test_distilberts_head_gives_its_logits(tmp_path):
    theirs = distilbert("DistilBertForMaskedLM")
    theirs.save_pretrained(tmp_path)
    assert head_of(tmp_path) is MaskedLM
    model, _, report = load_head(tmp_path, MaskedLM)
    assert_outputs_same(model, theirs, segments=False)
    assert not report.unexpected


@pytest.mark.parametrize("head", [MaskedLM, NextSentence])
def test_either_half_of_a_pretraining_model_loads(tmp_path, head):
    both = set_sine_weights(Pretraining(tiny_encoder()))
    save_head(both, tmp_path)
    half, _, _ = load_head(tmp_path, head)
    for name, variable in half.tensors().items():
        np.testing.assert_array_equal(
            variable.numpy(), both.tensors()[name].numpy()
        )


@pytest.mark.parametrize("bias", ["copy", "only"])
def test_copies_of_tied_tensors_are_read(tmp_path, bias):
    model = set_sine_weights(MaskedLM(tiny_encoder()))
    save_head(model, tmp_path)

    def copy(tensors):
        tensors[f"{DECODER}.weight"] = tensors[EMBEDDINGS].copy()
        tensors[f"{DECODER}.bias"] = tensors["cls.predictions.bias"].copy()
        if bias == "only":
            del tensors["cls.predictions.bias"]

    edit_tensors(tmp_path, copy)
    loaded, _, report = load_head(tmp_path, MaskedLM)
    assert not report.unexpected
    np.testing.assert_array_equal(
        loaded.predictions.bias.numpy(), model.predictions.bias.numpy()
    )


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_a_decoder_that_is_not_tied_is_refused(tmp_path, name):
    save_head(set_sine_weights(MaskedLM(tiny_encoder())), tmp_path)
    own = EMBEDDINGS if name == "weight" else "cls.predictions.bias"

    def untie(tensors):
        tensors[f"{DECODER}.{name}"] = tensors[own] + 1

    edit_tensors(tmp_path, untie)
    with pytest.raises(CheckpointError, match=f"{DECODER}.{name}.*differs"):
        load_head(tmp_path, MaskedLM)


@HEADS
def test_a_missing_tensor_of_a_head_is_named(tmp_path, head):
    model = head(tiny_encoder())
    for name in model.tensors():
        save_head(model, tmp_path)
        edit_tensors(tmp_path, lambda tensors, n=name: tensors.pop(n))
        with pytest.raises(CheckpointError, match=f"'{name}'.*is missing"):
            load_head(tmp_path, head)


@pytest.mark.parametrize("head", [NextSentence, Span])
def test_a_transposed_tensor_of_a_head_is_named(tmp_path, head):
    model = head(tiny_encoder())
    save_head(model, tmp_path)
    name = next(iter(model.tensors()))

    def transpose(tensors):
        tensors[name] = tensors[name].T.copy()

    edit_tensors(tmp_path, transpose)
    with pytest.raises(CheckpointError, match=rf"'{name}'.*\(8, 2\)"):
        load_head(tmp_path, head)


@pytest.mark.parametrize("head", [NextSentence, Pretraining])
def test_a_missing_pooler_is_named(tmp_path, head):
    save_head(head(tiny_encoder()), tmp_path)
    name = "pooler.dense.bias"
    edit_tensors(tmp_path, lambda tensors: tensors.pop(f"bert.{name}"))
    with pytest.raises(CheckpointError, match=f"'{name}'.*is missing"):
        load_head(tmp_path, head)


def test_another_architecture_is_refused_by_name(tmp_path):
    save_head(MaskedLM(tiny_encoder()), tmp_path)
    with pytest.raises(
        CheckpointError,
        match="expected the architecture BertForPreTraining, found BertForM",
    ):
        load_head(tmp_path, Pretraining)


def test_restoring_takes_the_parts_that_there_are(tmp_path):
    saved = set_sine_weights(MaskedLM(tiny_encoder()))
    save_head(saved, tmp_path)
    model = Pretraining(tiny_encoder())
    before = model.next_sentence.get_weights()
    assert {*restore_head(model, tmp_path)} == {*saved.tensors()}
    for name, variable in saved.tensors().items():
        np.testing.assert_array_equal(
            model.tensors()[name].numpy(), variable.numpy()
        )
    for old, new in zip(before, model.next_sentence.get_weights(), strict=True):
        np.testing.assert_array_equal(new, old)


def test_restoring_half_a_part_is_refused(tmp_path):
    save_head(MaskedLM(tiny_encoder()), tmp_path)
    edit_tensors(tmp_path, lambda tensors: tensors.pop(DENSE))
    with pytest.raises(CheckpointError, match=f"'{DENSE}'.*is missing"):
        restore_head(MaskedLM(tiny_encoder()), tmp_path)


def test_restoring_another_vocabulary_is_refused(tmp_path):
    save_head(MaskedLM(tiny_encoder()), tmp_path)
    other = MaskedLM(tiny_encoder(vocabulary_size=VOCABULARY + 1))
    with pytest.raises(CheckpointError, match=r"cls.predictions.bias.*\(23,\)"):
        restore_head(other, tmp_path)
