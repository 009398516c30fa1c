"""Scores of a model folder on labelled data."""

import dataclasses
import json

import numpy as np
import pytest

from pipelines import evaluate as module
from pipelines.classify import classify
from pipelines.errors import InputError
from pipelines.evaluate import evaluate
from pipelines.options import EvaluateOptions
from pipelines.tagging.sentences import label_words
from tests.pipelines.tiny import COMMON, TOPICS, rows, write_csv, write_jsonl
from tests.pipelines.tiny_tags import make_tagger


@pytest.fixture
def run(trained):
    def run(data, **options):
        return evaluate(
            EvaluateOptions(model=str(trained.folder), data=data, **options)
        )

    return run


def test_scores_are_printed_and_written(run, trained, tmp_path, capsys):
    output = tmp_path / "out" / "metrics.json"
    found = run(trained.options.data, output=str(output))
    assert found["rows"] == 60
    assert json.loads(capsys.readouterr().out) == found
    assert json.loads(output.read_text("utf-8")) == found


def test_the_columns_may_be_named(run, tmp_path):
    data = write_csv(tmp_path / "a.csv", rows(6), ("body", "topic"))
    assert run(data, text="body", label="topic")["rows"] == 6
    with pytest.raises(InputError, match="topics.*--label"):
        run(data, text="body", label="topics")


def test_the_columns_of_the_training_are_known(head_only, tmp_path):
    header, texts = ("body", "topic"), rows(30)
    options = dataclasses.replace(
        head_only,
        data=write_csv(tmp_path / "named.csv", texts, header),
        text="body",
        label="topic",
        adapt_epochs=1,
    )
    classify(options)
    found = evaluate(EvaluateOptions(model=options.output, data=options.data))
    assert found["rows"] == 30
    # Others may be named instead.
    usual = EvaluateOptions(
        model=options.output,
        data=write_csv(tmp_path / "usual.csv", texts),
        text="text",
        label="label",
    )
    assert evaluate(usual) == found


def test_a_label_that_the_model_lacks_is_named_and_missed(
    run, tmp_path, capsys
):
    data = write_csv(tmp_path / "a.csv", [("sun", "kiwi"), ("far", "kiwi")])
    found = run(data)
    assert found["accuracy"] == 0
    assert found["per_class"]["kiwi"]["support"] == 2
    assert '"kiwi" (2 times' in capsys.readouterr().err
    json.dumps(found, allow_nan=False)


def test_rows_without_label_stop_or_are_left_out(run, tmp_path, capsys):
    lines = [{"text": "sun", "label": "zebra"}, {"text": "far", "label": None}]
    data = write_jsonl(tmp_path / "a.jsonl", lines)
    with pytest.raises(InputError, match="a.jsonl:2: no label"):
        run(data)
    assert run(data, skip_unlabelled=True)["rows"] == 1
    assert "1 rows without a label left out" in capsys.readouterr().err


def test_minus_one_is_a_label_where_the_model_has_it(
    trained, tmp_path, monkeypatch
):
    model = dataclasses.replace(trained.fine_tuned, labels=("-1", "0", "1"))
    monkeypatch.setattr(module, "read_model_folder", lambda path: model)
    lines = [("sun", "-1"), ("far", "0"), ("pie", "1"), ("zoo", "")]
    data = write_csv(tmp_path / "a.csv", lines)
    found = evaluate(
        EvaluateOptions(model="model", data=data, skip_unlabelled=True)
    )
    assert found["rows"] == 3
    assert found["per_class"]["-1"]["support"] == 1


def test_plain_labels_stay_plain_whatever_they_spell(tmp_path, monkeypatch):
    """A label `I` among others is no entity, even where it stands alone."""
    tagger = make_tagger(tmp_path / "bert", labels=("B", "I", "N"))
    assert tagger.settings["scheme"] == "plain"
    kernel = 0 * tagger.model.logits.kernel.numpy()
    tagger.model.logits.set_weights([kernel, np.array([0.0, 9.0, 0.0])])
    monkeypatch.setattr(module, "read_model_folder", lambda path: tagger)
    data = write_jsonl(tmp_path / "a.jsonl", [{"tokens": ["a"], "tags": ["I"]}])
    assert evaluate(EvaluateOptions(model="m", data=data))["accuracy"] == 1.0


def test_no_rows_are_an_error(run, tmp_path):
    data = write_csv(tmp_path / "a.csv", [])
    with pytest.raises(InputError, match="a.csv"):
        run(data)


def test_an_output_that_cannot_be_written_is_found_at_once(
    trained, tmp_path, monkeypatch
):
    """Before the model is read and the data are scored."""
    options = EvaluateOptions(
        model="absent", data=trained.options.data, output=str(tmp_path)
    )
    with pytest.raises(InputError, match="--output"):
        evaluate(options)


def test_neighbours_are_sentences_of_one_document(tmp_path, monkeypatch):
    """The gold tags are those that each sentence gets alone."""
    tagger = make_tagger(tmp_path / "bert", settings={"document_context": True})
    monkeypatch.setattr(module, "read_model_folder", lambda path: tagger)
    words = [*COMMON, *TOPICS["zebra"]]
    sentences = [[words[i], words[-i]] for i in range(1, 20)]
    alone = label_words(tagger, sentences, range(len(sentences)))

    def accuracy(name, between):
        lines = []
        for tokens, (tags, _) in zip(sentences, alone, strict=True):
            lines += map(" ".join, zip(tokens, tags, strict=True))
            lines += between
        path = tmp_path / name
        path.write_text("\n".join(lines), "utf-8")
        options = EvaluateOptions(model="tagger", data=str(path))
        return evaluate(options)["accuracy"]

    assert accuracy("many.conll", ["", "-DOCSTART- O", ""]) == 1.0
    assert accuracy("one.conll", [""]) < 0.9


def read_lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_mistakes_are_written_the_worst_first(run, tmp_path):
    lines = [
        {"text": text, "label": name, "id": i}
        for i, (text, name) in enumerate(rows(12))
    ]
    lines.append({"text": "sun", "label": "kiwi", "id": 12})
    data = write_jsonl(tmp_path / "a.jsonl", lines)
    found = run(data, errors=str(tmp_path / "errors.jsonl"))
    mistakes = read_lines(tmp_path / "errors.jsonl")
    wrong = round((1 - found["accuracy"]) * found["rows"])
    assert len(mistakes) == wrong > 0
    assert mistakes[0]["id"] == 12
    gold_scores = [row["gold_score"] for row in mistakes]
    assert gold_scores == sorted(gold_scores)
    for row in mistakes:
        line = lines[row["id"]]
        assert (row["text"], row["gold"]) == (line["text"], line["label"])
        assert row["where"].endswith(f"a.jsonl:{row['id'] + 1}")
        assert row["predicted"] != row["gold"]


def test_mistakes_of_a_tagger_are_written(tmp_path, monkeypatch):
    tagger = make_tagger(tmp_path / "bert")
    monkeypatch.setattr(module, "read_model_folder", lambda path: tagger)
    words = [*COMMON, *TOPICS["zebra"]]
    (tags, _), (other, _) = label_words(tagger, [words, words[::-1]], [0, 1])
    wrong = ["B-PER" if tag == "O" else "O" for tag in other]
    lines = [*map(" ".join, zip(words, tags, strict=True)), ""]
    lines += map(" ".join, zip(words[::-1], wrong, strict=True))
    path = tmp_path / "gold.conll"
    path.write_text("\n".join(lines), "utf-8")
    errors = tmp_path / "errors.jsonl"
    found = evaluate(
        EvaluateOptions(model="t", data=str(path), errors=str(errors))
    )
    assert found["rows"] == 2
    (mistake,) = read_lines(errors)
    assert mistake["tokens"] == words[::-1]
    assert mistake["wrong"] == list(range(len(words)))
    assert mistake["where"].endswith(f"gold.conll:{len(words) + 2}")


def test_the_mistakes_need_a_file_of_their_own(run, trained, tmp_path):
    path = str(tmp_path / "one.json")
    with pytest.raises(InputError, match="--errors .*another file than"):
        run(trained.options.data, output=path, errors=path)
    with pytest.raises(InputError, match="--errors .*found a folder"):
        run(trained.options.data, errors=str(tmp_path))


def test_texts_may_go_unanswered(run, trained):
    found = run(trained.options.data, abstain_below=1.0)
    assert (found["coverage"], found["answered_accuracy"]) == (0, None)
    assert run(trained.options.data, abstain_below=0.01)["coverage"] == 1


def test_changed_spans_and_missing_words_are_told(
    tmp_path, monkeypatch, capsys
):
    tagger = make_tagger(tmp_path / "bert")
    monkeypatch.setattr(module, "read_model_folder", lambda path: tagger)
    record = {"text": "the zoo", "spans": [[4, 6, "X"]]}
    path = write_jsonl(tmp_path / "spans.jsonl", [record])
    evaluate(EvaluateOptions(model="m", data=path))
    assert "1 widened to whole words" in capsys.readouterr().err
    path = write_jsonl(tmp_path / "no.jsonl", [{"tokens": [], "tags": []}])
    with pytest.raises(InputError, match="expected words, found 1 sentences"):
        evaluate(EvaluateOptions(model="m", data=path))
