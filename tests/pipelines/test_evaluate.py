"""Scores of a model folder on labelled data."""

import json

import pytest

from pipelines import evaluate as module
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
