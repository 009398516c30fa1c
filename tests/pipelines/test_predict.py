"""One output for each input, in order, whatever stands there."""

import bz2
import dataclasses
import gzip
import io
import json
import pathlib
import types
import zipfile

import numpy as np
import pytest

from pipelines import predict as module
from pipelines.classification.texts import predict_scores
from pipelines.data.examples import TextExample
from pipelines.errors import InputError
from pipelines.options import PredictOptions
from pipelines.predict import predict, predict_stream
from tests.pipelines.tiny import TOPICS, rows, write_csv, write_jsonl

ODD = ["", " ", "\t\u3000", "fine", "\u200b", ""]


@pytest.fixture
def run(trained, capsys):
    """Predicts with the shared model; returns what stands on stdout."""

    def run(**options):
        predict(PredictOptions(model=str(trained.folder), **options))
        lines = capsys.readouterr().out.splitlines()
        return [json.loads(line) for line in lines]

    return run


def feed(monkeypatch, content):
    stdin = types.SimpleNamespace(buffer=io.BytesIO(content))
    monkeypatch.setattr("sys.stdin", stdin)


def expected(trained, texts):
    examples = [TextExample(text) for text in texts]
    return list(predict_stream(trained.fine_tuned, examples))


def close(found, wanted):
    assert [row["label"] for row in found] == [row["label"] for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one["scores"] == pytest.approx(other["scores"], abs=1e-5)


def test_a_result_has_label_score_and_all_probabilities(run):
    (result,) = run(text="stripe hoof herd")
    assert set(result) == {"label", "score", "scores"}
    assert list(result["scores"]) == sorted(TOPICS)
    assert sum(result["scores"].values()) == pytest.approx(1, abs=1e-6)
    assert result["score"] == result["scores"][result["label"]]
    assert result["score"] == max(result["scores"].values())


def test_odd_texts_have_results_by_the_api(trained):
    found = expected(trained, ODD)
    assert len(found) == len(ODD)
    # Nothing but blanks and invisible characters is nothing.
    for i in (1, 2, 4, 5):
        assert found[i]["scores"] == pytest.approx(found[0]["scores"])
    assert expected(trained, []) == []


def test_texts_without_a_token_are_told(trained, capsys):
    expected(trained, ODD)
    assert "Texts without a token: 5 of 6;" in capsys.readouterr().err
    expected(trained, ["fine"])
    assert "without a token" not in capsys.readouterr().err


def test_odd_texts_have_results_as_json_lines(run, trained, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", [{"text": t} for t in ODD])
    close(run(input=path), expected(trained, ODD))


def test_any_text_has_one_result(run, trained, tmp_path):
    """Half an emoji, a character of each plane, special tokens, 1 MB."""
    planes = "".join(chr((plane << 16) + 0x1234) for plane in range(17))
    texts = ["\ud83d", planes, "[SEP] [PAD]", "zoo " * 2**18, "\0", "a\udc00b"]
    lines = [json.dumps({"text": text, "id": text[:1]}) for text in texts]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = run(input=str(path))
    assert [row.pop("id") for row in found] == [
        *("\ufffd", planes[0], "[", "z", "\0", "a")
    ]
    close(found, expected(trained, texts))


def test_odd_texts_have_results_as_plain_lines(run, trained, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{text}\n" for text in ODD), encoding="utf-8")
    close(run(input=str(path)), expected(trained, ODD))


def test_odd_texts_have_results_as_csv(run, trained, tmp_path):
    path = write_csv(
        tmp_path / "in.csv",
        [(str(i), text) for i, text in enumerate(ODD)],
        ("id", "text"),
    )
    found = run(input=path)
    assert [row.pop("id") for row in found] == [str(i) for i in range(6)]
    close(found, expected(trained, ODD))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_blank_line_of_a_single_column_is_a_text(
    run, trained, tmp_path, suffix
):
    path = tmp_path / f"in.{suffix}"
    path.write_text("text\nsun\n\nfar\n \n")
    close(run(input=str(path)), expected(trained, ["sun", "", "far", " "]))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zip"])
def test_a_packed_table_is_read_as_one(run, trained, tmp_path, suffix):
    texts = ["sun", "far, pie"]
    path = write_csv(
        tmp_path / "in.csv", [*zip("ab", texts, strict=True)], ("id", "text")
    )
    content = pathlib.Path(path).read_bytes()
    packed = tmp_path / f"in.csv{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("in.csv", content)
    elif suffix:
        pack = {".gz": gzip, ".bz2": bz2}[suffix].compress
        packed.write_bytes(pack(content))
    found = run(input=str(packed))
    assert [row.pop("id") for row in found] == ["a", "b"]
    close(found, expected(trained, texts))


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".json"])
@pytest.mark.parametrize("first", ["[]", '"text": "a"}', "sun"])
def test_a_wrong_first_line_of_json_is_no_text(run, tmp_path, suffix, first):
    path = tmp_path / f"in{suffix}"
    path.write_text(first + '\n{"text": "sun"}\n')
    with pytest.raises(InputError, match=f"in{suffix}:1: "):
        run(input=str(path))


def test_the_columns_of_the_training_are_known(trained, tmp_path, monkeypatch):
    """And where the table has others, the usual names."""
    settings = {**trained.fine_tuned.settings}
    settings["columns"] = {"text": "hypothesis", "label": "gold"}
    model = dataclasses.replace(trained.fine_tuned, settings=settings)
    monkeypatch.setattr(module, "read_model_folder", lambda path: model)

    def results(name, header):
        lines = [("stripe hoof", "sun pie"), ("far", "herd zoo")]
        path = write_csv(tmp_path / f"{name}.csv", lines, header)
        output = tmp_path / f"{name}.jsonl"
        predict(PredictOptions(model="model", input=path, output=str(output)))
        return [*map(json.loads, output.read_text("utf-8").splitlines())]

    found = results("learned", ("premise", "hypothesis"))
    close(found, expected(trained, ["sun pie", "herd zoo"]))
    found = results("usual", ("text", "gold"))
    close(found, expected(trained, ["stripe hoof", "far"]))


def test_utf16_from_standard_input_is_named(run, monkeypatch):
    feed(monkeypatch, "sun\n".encode("utf-16"))
    with pytest.raises(InputError, match="standard input: .* found UTF-16"):
        run(input="-")


def test_odd_texts_have_results_from_standard_input(run, trained, monkeypatch):
    feed(monkeypatch, "".join(f"{text}\n" for text in ODD).encode())
    close(run(input="-"), expected(trained, ODD))


def test_an_empty_text_has_a_result(run):
    assert len(run(text="")) == 1


def test_an_argument_that_is_no_text_is_refused(run):
    """Bytes that are not UTF-8 come from the shell like this."""
    with pytest.raises(InputError, match="--text: expected UTF-8"):
        run(text="K\udcf6ln")


def test_an_empty_file_has_none(run, tmp_path):
    (tmp_path / "empty").write_text("")
    assert run(input=str(tmp_path / "empty")) == []


def test_windows_lines_a_mark_and_no_last_newline(run, trained, tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes("\ufeffstripe hoof\r\nsun ripe".encode())
    close(run(input=str(path)), expected(trained, ["stripe hoof", "sun ripe"]))


def test_a_mark_on_standard_input_is_no_text(run, trained, monkeypatch):
    feed(monkeypatch, '\ufeff{"text": "stripe hoof"}\n'.encode())
    close(run(input="-"), expected(trained, ["stripe hoof"]))


def test_blank_lines_among_json_lines_are_nothing(run, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('\n{"text": "sun"}\n\n  \n{"text": "far"}\n\n')
    assert len(run(input=str(path))) == 2


def test_blank_lines_before_plain_lines_are_texts(run, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n\nsun\n\n")
    assert len(run(input=str(path))) == 4
    path.write_text("\n\n")
    assert len(run(input=str(path))) == 2


def test_identifiers_are_echoed(run, tmp_path):
    lines = [{"id": 7, "text": "a"}, {"text": "b"}, {"id": "x", "text": "c"}]
    found = run(input=write_jsonl(tmp_path / "in.jsonl", lines))
    assert [row.get("id") for row in found] == [7, None, "x"]
    assert "id" not in found[1]
    assert list(found[0])[0] == "id"


def test_pairs_are_read_as_pairs(run, tmp_path):
    lines = [
        {"text": "stripe", "text_pair": "hoof"},
        {"text": "stripe", "text_pair": None},
        {"text": "stripe"},
    ]
    pair, null, single = run(input=write_jsonl(tmp_path / "in.jsonl", lines))
    assert null["scores"] == pytest.approx(single["scores"], abs=1e-6)
    assert pair["scores"] != pytest.approx(single["scores"], abs=1e-6)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": ', "broken JSON"),
        ("[]", "expected one JSON object"),
        ('{"text": 3}', '"text" to be a string, found 3'),
        ('{"text": null}', '"text" to be a string, found null'),
        ('{"body": "a"}', '"text" to be a string'),
        ('{"text": "a", "text_pair": ["b"]}', '"text_pair" to be a string'),
        ('{"tokens": ["a"]}', 'expected "text", found "tokens"'),
    ],
)
def test_a_wrong_line_names_file_and_line(run, tmp_path, line, message):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "sun"}\n\n' + line + "\n")
    with pytest.raises(InputError, match=f"in.jsonl:3: .*{message}"):
        run(input=str(path))


def test_bytes_that_are_no_text_name_file_and_line(run, tmp_path, monkeypatch):
    content = b"sun\nK\xf6ln\n"
    (tmp_path / "in.txt").write_bytes(content)
    with pytest.raises(InputError, match="in.txt:2: expected UTF-8.*0xf6"):
        run(input=str(tmp_path / "in.txt"))
    feed(monkeypatch, content)
    with pytest.raises(InputError, match="standard input:2: .*UTF-8.*0xf6"):
        run(input="-")


@pytest.mark.parametrize("given", [{}, {"text": "a", "input": "-"}])
def test_there_is_one_source(run, given):
    with pytest.raises(InputError, match="either --text or --input"):
        run(**given)


def test_a_missing_file_is_found_before_the_model_is_read(trained, tmp_path):
    options = PredictOptions(model="absent", input=str(tmp_path / "no.txt"))
    with pytest.raises(InputError, match="no.txt: no such file"):
        predict(options)


def test_an_output_file_is_whole_or_absent(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.data.examples.CHUNK", 2)
    output = tmp_path / "out" / "scores.jsonl"
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "sun"}\n' * 5 + "broken\n")
    options = PredictOptions(
        model=str(trained.folder), input=str(path), output=str(output)
    )
    with pytest.raises(InputError, match="in.jsonl:6"):
        predict(options)
    assert list(output.parent.iterdir()) == []
    path.write_text('{"text": "Łódź"}\n' * 5)
    predict(options)
    assert len(output.read_text("utf-8").splitlines()) == 5


def test_ten_thousand_lines_stream(trained):
    """Only a chunk is held at once, and order survives the sorting."""
    texts = [text for text, _ in rows(10)]
    read = 0

    def examples():
        nonlocal read
        for i in range(10_000):
            read += 1
            yield TextExample(texts[i % 10], id=i)

    results = predict_stream(trained.fine_tuned, examples(), batch_size=512)
    first = next(results)
    assert read < 10_000
    found = [first, *results]
    assert [row["id"] for row in found] == list(range(10_000))
    for i in range(0, 10_000, 777):
        wanted = found[i % 10]["scores"]
        assert found[i]["scores"] == pytest.approx(wanted, abs=1e-5)


def test_neighbours_do_not_change_a_score(trained):
    """Alone, next to a longer text, and in another batch size."""
    texts = ["sun", "stripe of hoof and herd", "far"]
    together = expected(trained, texts)
    close([expected(trained, [text])[0] for text in texts], together)
    examples = [TextExample(text) for text in texts]
    one = predict_scores(trained.fine_tuned, examples, 1)
    three = predict_scores(trained.fine_tuned, examples, 3)
    np.testing.assert_allclose(one, three, atol=1e-5)


def test_a_low_score_gets_no_label(run):
    (sure,) = run(text="stripe hoof herd")
    (unsure,) = run(text="stripe hoof herd", abstain_below=1.0)
    assert unsure == {**sure, "label": None}
