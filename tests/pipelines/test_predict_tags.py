"""A tagger's answers: one for each input, in order, with its own context."""

import gzip
import io
import json
import types

import numpy as np
import pytest

from pipelines import predict as module
from pipelines.errors import InputError
from pipelines.options import PredictOptions
from pipelines.predict import predict
from pipelines.tagging.sentences import label_words
from tests.pipelines.tiny import write_csv, write_jsonl
from tests.pipelines.tiny_tags import make_tagger

ODD = ["", " ", "\t\u3000", "fine zoo", "\u200b", ""]
# Two documents of two and one sentences, one sentence of none, and one more.
SENTENCES = ["the zoo", "old sun", "near tree", "far pie", "the sun"]
DOCUMENTS = ["a", "a", "b", None, "a"]
NUMBERS = [0, 0, 1, 2, 3]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """Sentences see their neighbours in the document."""
    folder = tmp_path_factory.mktemp("tagger") / "bert"
    return make_tagger(folder, settings={"document_context": True})


@pytest.fixture
def run(tagger, capsys, monkeypatch):
    """Predicts with the tagger; returns what stands on stdout."""
    monkeypatch.setattr(module, "read_model_folder", lambda path: tagger)

    def run(**options):
        predict(PredictOptions(model="tagger", **options))
        return [json.loads(s) for s in capsys.readouterr().out.splitlines()]

    return run


def scores_of(tagger, documents):
    split = [text.split() for text in SENTENCES]
    return [scores for _, scores in label_words(tagger, split, documents)]


def same_scores(results, expected):
    assert len(results) == len(expected)
    for result, scores in zip(results, expected, strict=True):
        np.testing.assert_allclose(result["scores"], scores, atol=1e-5)


def json_lines(path, documents):
    rows = [
        {"tokens": text.split()} | ({"document": name} if name else {})
        for text, name in zip(SENTENCES, documents, strict=True)
    ]
    return write_jsonl(path, rows)


def test_json_lines_name_their_documents(run, tagger, tmp_path):
    results = run(input=json_lines(tmp_path / "in.jsonl", DOCUMENTS))
    same_scores(results, scores_of(tagger, NUMBERS))
    alone = scores_of(tagger, range(5))
    assert not np.allclose(results[0]["scores"], alone[0], atol=1e-4)
    np.testing.assert_allclose(results[2]["scores"], alone[2], atol=1e-5)


def test_json_lines_without_documents_are_never_neighbours(
    run, tagger, tmp_path
):
    results = run(input=json_lines(tmp_path / "in.jsonl", [None] * 5))
    same_scores(results, scores_of(tagger, range(5)))


@pytest.mark.parametrize("suffix", ["conll", "conllu"])
def test_conll_files_have_their_documents(run, tagger, tmp_path, suffix):
    """Their tags, if there are any, are not looked at."""
    lines = []
    for i, text in enumerate(SENTENCES):
        if i and NUMBERS[i] != NUMBERS[i - 1]:
            lines += ["# newdoc" if suffix == "conllu" else "-DOCSTART- O", ""]
        for number, word in enumerate(text.split(), start=1):
            conllu = f"{number}\t{word}" + "\t_" * 4 + "\t0" + "\t_" * 3
            lines.append(conllu if suffix == "conllu" else f"{word} O")
        lines.append("")
    path = tmp_path / f"in.{suffix}"
    path.write_text("\n".join(lines).replace("newdoc\n\n", "newdoc\n"), "utf-8")
    results = run(input=str(path))
    assert [" ".join(r["tokens"]) for r in results] == SENTENCES
    same_scores(results, scores_of(tagger, NUMBERS))


def test_documents_are_read_whole(run, tagger, tmp_path, monkeypatch):
    """However few sentences are held at once."""
    monkeypatch.setattr("pipelines.data.examples.CHUNK", 1)
    results = run(input=json_lines(tmp_path / "in.jsonl", DOCUMENTS))
    same_scores(results, scores_of(tagger, NUMBERS))


def odd_inputs(kind, folder, monkeypatch):
    if kind == "csv":
        rows = [(str(i), text) for i, text in enumerate(ODD)]
        return write_csv(folder / "in.csv", rows, ("id", "text"))
    if kind == "json lines":
        return write_jsonl(folder / "in.jsonl", [{"text": t} for t in ODD])
    content = "".join(f"{text}\n" for text in ODD).encode()
    stdin = types.SimpleNamespace(buffer=io.BytesIO(content))
    monkeypatch.setattr("sys.stdin", stdin)
    return "-"


@pytest.mark.parametrize("kind", ["csv", "json lines", "standard input"])
def test_odd_texts_have_answers(run, tmp_path, monkeypatch, kind):
    results = run(input=odd_inputs(kind, tmp_path, monkeypatch))
    assert len(results) == len(ODD)
    for text, result in zip(ODD, results, strict=True):
        if "zoo" not in text:
            assert result["entities"] == []


def test_nothing_has_no_answer(run, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    assert run(input=str(tmp_path / "empty.txt")) == []


def test_pairs_are_refused(run, tmp_path):
    rows = [{"text": "a", "text_pair": "b"}]
    path = write_jsonl(tmp_path / "in.jsonl", rows)
    with pytest.raises(InputError, match='in.jsonl:1.*no "text_pair"'):
        run(input=path)


@pytest.mark.parametrize("suffix", [".conll", ".bio", ".iob2", ".conll.gz"])
def test_columns_are_sentences_by_any_suffix_that_trains(run, tmp_path, suffix):
    content = b"the O\nzoo B-LOC\n\nold O\n"
    path = tmp_path / f"in{suffix}"
    packs = suffix.endswith(".gz")
    path.write_bytes(gzip.compress(content) if packs else content)
    found = run(input=str(path))
    assert [result["tokens"] for result in found] == [["the", "zoo"], ["old"]]
