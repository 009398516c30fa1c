import json

import numpy as np
import pytest
import transformers
from keras import ops
from safetensors.numpy import load_file, save_file

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.load_heads import load_head
from keras_encoder.checkpoints.save_heads import save_head
from keras_encoder.heads import SequenceClassifier, TokenTagger
from keras_encoder.layers.crf import CRF
from tests.keras_encoder.checkpoints.references import (
    assert_same,
    bert,
    outputs_of,
    random_inputs,
)
from tests.keras_encoder.fixed_weights import set_sine_weights, tiny_encoder

LABELS = ("business", "zoë", "sport")
CLASSIFIER = "BertForSequenceClassification"
TAGGER = "BertForTokenClassification"


def transformers_folder(tmp_path, name, **config):
    id2label = dict(enumerate(LABELS))
    model = bert(name, **{"id2label": id2label, **config})
    model.save_pretrained(tmp_path)
    return model


def our_classifier(**changes):
    model = SequenceClassifier(tiny_encoder(**changes), len(LABELS), dropout=0)
    return set_sine_weights(model)


def edit_config(folder, **changes):
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({k: v for k, v in config.items() if v != ""}))


def remove_tensor(folder, name):
    tensors = load_file(folder / "model.safetensors")
    del tensors[name]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def test_a_classifier_of_transformers_gives_its_logits(tmp_path):
    theirs = transformers_folder(tmp_path, CLASSIFIER)
    model, labels, report = load_head(tmp_path, SequenceClassifier)
    inputs = random_inputs()
    assert labels == LABELS
    assert_same(model(inputs), outputs_of(theirs, inputs).logits)
    assert not report.missing
    assert not report.unexpected
    assert "classifier.weight" in report.matched


def test_a_tagger_of_transformers_gives_its_logits(tmp_path):
    theirs = transformers_folder(tmp_path, TAGGER)
    model, labels, report = load_head(tmp_path, TokenTagger)
    inputs = random_inputs()
    assert labels == LABELS
    assert_same(
        model(inputs), outputs_of(theirs, inputs).logits, inputs["padding_mask"]
    )
    assert report.pooler_is_random
    assert not report.unexpected


@pytest.mark.parametrize(
    "problem_type",
    ["single_label_classification", "multi_label_classification"],
)
def test_transformers_opens_a_saved_classifier(tmp_path, problem_type):
    model = our_classifier()
    save_head(model, tmp_path / "new", LABELS, problem_type)
    theirs, info = transformers.BertForSequenceClassification.from_pretrained(
        tmp_path / "new", output_loading_info=True
    )
    inputs = random_inputs()
    assert_same(model(inputs), outputs_of(theirs.eval(), inputs).logits)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert theirs.config.id2label == dict(enumerate(LABELS))
    assert theirs.config.label2id["zoë"] == 1
    assert theirs.config.problem_type == problem_type
    assert theirs.config.architectures == [CLASSIFIER]


def test_transformers_opens_a_saved_regression(tmp_path):
    model = SequenceClassifier(tiny_encoder(), 1)
    save_head(model, tmp_path, ["score"], "regression")
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path
    )
    assert theirs.config.num_labels == 1


def test_transformers_opens_a_saved_tagger(tmp_path):
    model = set_sine_weights(TokenTagger(tiny_encoder(), len(LABELS)))
    save_head(model, tmp_path, LABELS)
    theirs, info = transformers.BertForTokenClassification.from_pretrained(
        tmp_path, output_loading_info=True
    )
    inputs = random_inputs()
    assert_same(
        model(inputs),
        outputs_of(theirs.eval(), inputs).logits,
        inputs["padding_mask"],
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]


def test_a_saved_model_loads_with_the_same_weights(tmp_path):
    model = our_classifier(activation="relu", layer_norm_epsilon=1e-6)
    save_head(model, tmp_path, LABELS, "single_label_classification")
    loaded, labels, _ = load_head(tmp_path, SequenceClassifier)
    assert labels == LABELS
    assert loaded.dropout == 0
    assert loaded.encoder.layer_norm_epsilon == 1e-6
    for ours, copy in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), copy.numpy())


def test_pre_norm_is_kept_and_transformers_does_not_misread_it(tmp_path):
    model = our_classifier(norm_first=True)
    save_head(model, tmp_path, LABELS, "single_label_classification")
    loaded, _, _ = load_head(tmp_path, SequenceClassifier)
    inputs = random_inputs()
    assert_same(model(inputs), ops.convert_to_numpy(loaded(inputs)))
    with pytest.raises(ValueError, match="keras_encoder"):
        transformers.AutoModel.from_pretrained(tmp_path)


@pytest.mark.parametrize(("stored", "expected"), [(None, 0.3), (0.0, 0.0)])
def test_the_head_has_its_own_dropout_or_the_encoders(
    tmp_path, stored, expected
):
    transformers_folder(
        tmp_path, CLASSIFIER, hidden_dropout_prob=0.3, classifier_dropout=stored
    )
    assert load_head(tmp_path, SequenceClassifier)[0].dropout == expected


def test_arguments_win_over_the_config(tmp_path):
    transformers_folder(tmp_path, CLASSIFIER)
    model, _, _ = load_head(
        tmp_path, SequenceClassifier, attention_dropout=0.25
    )
    assert model.encoder.attention_dropout == 0.25


def test_the_order_of_id2label_is_that_of_the_ids(tmp_path):
    transformers_folder(tmp_path, CLASSIFIER)
    edit_config(tmp_path, id2label={"2": "c", "0": "a", "1": "b"})
    assert load_head(tmp_path, SequenceClassifier)[1] == ("a", "b", "c")


def test_without_id2label_labels_are_numbered(tmp_path):
    transformers_folder(tmp_path, CLASSIFIER)
    edit_config(tmp_path, id2label="", architectures="")
    assert load_head(tmp_path, SequenceClassifier)[1] == (
        "LABEL_0",
        "LABEL_1",
        "LABEL_2",
    )


@pytest.mark.parametrize(
    "id2label",
    [{"0": "a"}, {"0": "a", "1": "b", "3": "c"}, ["a", "b", "c"], 3],
)
def test_id2label_that_does_not_fit_the_head_is_refused(tmp_path, id2label):
    transformers_folder(tmp_path, CLASSIFIER)
    edit_config(tmp_path, id2label=id2label)
    with pytest.raises(
        CheckpointError, match=r"config.json: id2label .* 0 to 2"
    ):
        load_head(tmp_path, SequenceClassifier)


def test_a_label_that_stands_twice_is_refused(tmp_path):
    transformers_folder(tmp_path, CLASSIFIER)
    edit_config(tmp_path, id2label={"0": "a", "1": "a", "2": "b"})
    with pytest.raises(CheckpointError, match="each label once; found 'a', 'a"):
        load_head(tmp_path, SequenceClassifier)


@pytest.mark.parametrize(
    "name", ["classifier.weight", "classifier.bias", "bert.pooler.dense.bias"]
)
def test_a_missing_tensor_of_the_head_is_named(tmp_path, name):
    transformers_folder(tmp_path, CLASSIFIER)
    remove_tensor(tmp_path, name)
    with pytest.raises(CheckpointError, match=name.removeprefix("bert.")):
        load_head(tmp_path, SequenceClassifier)


def test_a_head_with_another_shape_is_named(tmp_path):
    transformers_folder(tmp_path, CLASSIFIER)
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    tensors["classifier.weight"] = tensors["classifier.weight"].T.copy()
    save_file(tensors, path, {"format": "pt"})
    with pytest.raises(CheckpointError, match=r"'classifier.weight'.*\(8, 3\)"):
        load_head(tmp_path, SequenceClassifier)


def test_another_architecture_is_refused_by_name(tmp_path):
    transformers_folder(tmp_path, TAGGER)
    with pytest.raises(CheckpointError, match=f"{CLASSIFIER}, found {TAGGER}"):
        load_head(tmp_path, SequenceClassifier)


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "b")])
def test_labels_that_do_not_fit_the_logits_are_not_saved(tmp_path, labels):
    with pytest.raises(CheckpointError, match="3 different labels"):
        save_head(TokenTagger(tiny_encoder(), 3), tmp_path, labels)
    assert not [*tmp_path.iterdir()]


def test_an_unknown_problem_type_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="problem_type='ranking'"):
        save_head(our_classifier(), tmp_path, LABELS, "ranking")


def tagger_with_crf():
    crf = CRF(len(LABELS))
    return set_sine_weights(TokenTagger(tiny_encoder(), len(LABELS), crf=crf))


def test_a_crf_is_saved_and_loaded_and_transformers_does_without(tmp_path):
    model = tagger_with_crf()
    save_head(model, tmp_path, LABELS)
    loaded, _, report = load_head(tmp_path, TokenTagger)
    assert not report.unexpected
    for old, new in zip(
        model.crf.get_weights(), loaded.crf.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(new, old)
    theirs, info = transformers.BertForTokenClassification.from_pretrained(
        tmp_path, output_loading_info=True
    )
    inputs = random_inputs()
    assert_same(
        model(inputs),
        outputs_of(theirs.eval(), inputs).logits,
        inputs["padding_mask"],
    )
    assert set(info["unexpected_keys"]) == {
        "crf.transitions",
        "crf.start_transitions",
        "crf.end_transitions",
    }


def test_half_a_crf_is_refused(tmp_path):
    save_head(tagger_with_crf(), tmp_path, LABELS)
    remove_tensor(tmp_path, "crf.end_transitions")
    with pytest.raises(CheckpointError, match="'crf.end_transitions'.*missing"):
        load_head(tmp_path, TokenTagger)
