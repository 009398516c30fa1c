"""What `classify` refuses before anything is trained or written."""

import dataclasses

import pytest

from keras_encoder.checkpoints.errors import CheckpointError
from keras_encoder.checkpoints.load import load_encoder
from keras_encoder.heads import SequenceClassifier
from pipelines.classification.texts import predict_scores
from pipelines.classify import classify
from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from tests.pipelines.tiny import rows, write_bert, write_csv


def replace(options, **changes):
    return dataclasses.replace(options, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_length": 41}, "--max-length 41.*40"),
        ({"finetune_blocks": 3}, "--finetune-blocks 3.*2 blocks"),
        ({"class_weights": "zebra=3,cow=1"}, "--class-weights.*cow"),
        ({"class_weights": "zebra"}, "--class-weights"),
        ({"class_weights": "zebra=0"}, "--class-weights"),
        ({"class_weights": "zebra=nan"}, "--class-weights"),
        ({"problem": "regression"}, "expected a number as the label"),
        ({"adapt_epochs": 0, "finetune_epochs": 0}, "--adapt-epochs"),
        ({"data": "absent.csv"}, "absent.csv: no such file"),
        ({"label": "topic"}, "topic"),
        ({"allow_empty": True}, "--allow-empty.*multi_label"),
        (
            {"problem": "multi_label", "target_accuracy": 0.9},
            "--target-accuracy.*single_label, found multi_label",
        ),
        (
            {"sampling": "balanced", "class_weights": "balanced"},
            "--sampling balanced.*without --class-weights",
        ),
        (
            {"sampling": "balanced", "problem": "regression"},
            "--sampling balanced: of classes",
        ),
    ],
)
def test_wrong_options_stop_before_training(head_only, changes, message):
    with pytest.raises(InputError, match=message):
        classify(replace(head_only, **changes))


def test_class_weights_need_one_label_a_text(head_only, tmp_path):
    lines = [(text, name, 1.5 * i) for i, (text, name) in enumerate(rows(9))]
    data = write_csv(tmp_path / "n.csv", lines, ("text", "topic", "label"))
    options = replace(
        head_only, data=data, problem="regression", class_weights="balanced"
    )
    with pytest.raises(InputError, match="--class-weights: only for"):
        classify(options)


def test_pairs_need_two_segments(head_only, tmp_path):
    folder = write_bert(tmp_path / "bert", type_vocab_size=1)
    lines = [(text, "near", name) for text, name in rows()]
    header = ("text", "text_pair", "label")
    options = replace(
        head_only,
        encoder=str(folder),
        data=write_csv(tmp_path / "pairs.csv", lines, header),
    )
    with pytest.raises(InputError, match="one segment"):
        classify(options)


def test_pairs_need_room_for_both_texts(head_only, tmp_path):
    lines = [(text, "near", name) for text, name in rows()]
    header = ("text", "text_pair", "label")
    options = replace(
        head_only,
        data=write_csv(tmp_path / "pairs.csv", lines, header),
        max_length=4,
    )
    with pytest.raises(InputError, match="--max-length"):
        classify(options)


def test_data_of_one_class_are_refused(head_only, tmp_path):
    data = write_csv(tmp_path / "one.csv", [("a near sun", "x")] * 9)
    with pytest.raises(InputError, match="two classes"):
        classify(replace(head_only, data=data))


def test_an_unknown_encoder_is_refused(head_only):
    with pytest.raises(CheckpointError, match="neither a folder nor a known"):
        classify(replace(head_only, encoder="bert-bsae"))


def test_a_model_of_one_segment_refuses_pairs_to_predict(tmp_path):
    folder = write_bert(tmp_path / "bert", type_vocab_size=1)
    encoder, tokenizer, _ = load_encoder(str(folder))
    settings = {"task": "classify", "problem": "single_label", "max_length": 8}
    model = FineTuned(
        SequenceClassifier(encoder, 2), tokenizer, ("a", "b"), settings
    )
    with pytest.raises(InputError, match="one segment"):
        predict_scores(model, [TextExample("sun", "far")])
