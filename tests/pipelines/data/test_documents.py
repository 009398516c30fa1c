import gzip

import numpy as np
import pytest

from pipelines.data.documents import (
    Lines,
    StoredDocuments,
    load_documents,
    read_documents,
)
from pipelines.errors import InputError


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_blank_lines_part_the_documents_of_a_text_file(tmp_path):
    path = write(tmp_path / "a.txt", "\none\r\n two \n\n \nthree\n\n\n")
    assert list(read_documents(path)) == [["one", "two"], ["three"]]


def test_a_folder_of_text_files_is_read_in_sorted_order(tmp_path):
    write(tmp_path / "b.txt", "three\n")
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write("one\n\ntwo\n")
    write(tmp_path / "notes.md", "not a text\n")
    found = list(read_documents(tmp_path))
    assert found == [["one"], ["two"], ["three"]]


def test_each_row_of_a_table_is_a_document_of_its_lines(tmp_path):
    path = write(tmp_path / "a.csv", 'id,body\n1,"one\n\ntwo"\n2,three\n3,\n')
    found = list(read_documents(path, text="body"))
    assert found == [["one", "two"], ["three"]]


def test_a_pair_of_texts_is_one_document(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path, '{"text": "one", "text_pair": "two"}\n')
    assert list(read_documents(path)) == [["one", "two"]]


def test_every_tenth_document_is_held_out_and_copies_are_dropped(tmp_path):
    lines = [f"text {i}\n\n" for i in range(30)]
    path = write(tmp_path / "a.txt", "".join([*lines, *lines[:5]]))
    train, held_out, note = load_documents(path, seed=3)
    assert (len(train), len(held_out)) == (27, 3)
    both = sorted(line for (line,) in (*train, *held_out))
    assert both == sorted(line.strip() for line in lines)
    assert any("5 documents" in line for line in note)
    assert load_documents(path, seed=3)[:2] == (train, held_out)
    assert load_documents(path, seed=4)[1] != held_out


def test_held_out_texts_may_be_given_or_stand_in_the_folder(tmp_path):
    rows = '{"text": "one"}\n{"text": "two"}\n'
    write(tmp_path / "train.jsonl", rows)
    other = write(tmp_path / "validation.jsonl", '{"text": "three"}\n')
    for found in (
        load_documents(tmp_path)[:2],
        load_documents(tmp_path / "train.jsonl", validation=other)[:2],
    ):
        assert found == ([["one"], ["two"]], [["three"]])


def test_a_held_out_text_that_is_trained_on_is_dropped(tmp_path):
    train = write(tmp_path / "a.txt", "one\n\ntwo\n")
    other = write(tmp_path / "b.txt", "two\n\nthree\n")
    assert load_documents(train, other)[1] == [["three"]]


def test_held_out_texts_that_are_all_trained_on_are_refused(tmp_path):
    train = write(tmp_path / "a.txt", "one\n\ntwo\n")
    with pytest.raises(InputError, match="a.txt: expected held-out documents"):
        load_documents(train, train)


def test_copies_of_one_text_are_told_where_they_are_too_few(tmp_path):
    train = write(tmp_path / "a.txt", "one\n\n" * 20)
    with pytest.raises(InputError, match="found 1 \\(19 documents that stand"):
        load_documents(train)


def test_of_one_document_the_last_lines_are_held_out(tmp_path):
    path = write(tmp_path / "a.txt", "".join(f"line {i}\n" for i in range(20)))
    train, held_out, note = load_documents(path)
    assert held_out == [["line 18", "line 19"]]
    assert note == ["held out: the last 2 lines"]
    assert len(train[0]) == 18


@pytest.mark.parametrize("content", ["", "\n \n", "one line\n"])
def test_too_little_text_is_refused(tmp_path, content):
    path = write(tmp_path / "a.txt", content)
    with pytest.raises(InputError, match="a.txt: expected two documents"):
        load_documents(path)


def test_unreadable_bytes_are_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\nK\xf6ln\n")
    with pytest.raises(InputError, match="a.txt:2.*0xf6"):
        load_documents(path)


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match="absent.txt: no such file"):
        load_documents("absent.txt")


def test_stored_documents_are_like_a_list(monkeypatch):
    monkeypatch.setattr("pipelines.data.scratch._SMALL", 1)
    documents = [["one", "tw\ud800"], [], ["three"]]
    stored = StoredDocuments(iter(documents))
    assert stored == documents
    assert [stored[-1], *stored[:2]] == [["three"], *documents[:2]]
    assert stored.take(np.array([2, 0])) == [["three"], documents[0]]
    lines = Lines(stored)
    assert list(lines) == list(lines) == ["one", "tw\ud800", "three"]


def test_rows_from_python_are_documents_too():
    rows = [{"text": "one\ntwo"}, {"text": "three"}]
    assert list(read_documents(rows)) == [["one", "two"], ["three"]]
    train, held_out, _ = load_documents(rows, validation=[{"text": "four"}])
    assert (len(train), held_out) == (2, [["four"]])
