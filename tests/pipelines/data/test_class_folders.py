import gzip

import pytest

from pipelines.data.class_folders import read_class_folders
from pipelines.data.examples import TextExample
from pipelines.errors import InputError


@pytest.fixture
def folder(tmp_path):
    for name, text in (("b/2", "two"), ("b/10.txt", "ten"), ("a/1.txt", "one")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_folder_is_the_label_and_the_order_is_sorted(folder):
    assert list(read_class_folders(folder)) == [
        TextExample("one", None, "a", str(folder / "a/1.txt")),
        TextExample("ten", None, "b", str(folder / "b/10.txt")),
        TextExample("two", None, "b", str(folder / "b/2")),
    ]


def test_hidden_files_and_folders_are_left_out(folder):
    (folder / ".git").mkdir()
    (folder / "__MACOSX").mkdir()
    (folder / "a/.DS_Store").write_bytes(b"\xff")
    (folder / "README.md").write_text("about", encoding="utf-8")
    assert len(list(read_class_folders(folder))) == 3


def test_a_byte_order_mark_is_dropped(folder):
    (folder / "a/1.txt").write_bytes(b"\xef\xbb\xbfone")
    assert next(read_class_folders(folder)).text == "one"


def test_compressed_texts_are_read(folder):
    (folder / "a/0.txt.gz").write_bytes(gzip.compress(b"zero"))
    assert next(read_class_folders(folder)).text == "zero"


def test_an_empty_text_is_a_text(folder):
    (folder / "a/1.txt").write_bytes(b"")
    assert next(read_class_folders(folder)).text == ""


@pytest.mark.parametrize(
    "raw, message",
    [
        (b"caf\xe9", r"1\.txt: expected UTF-8, found byte 0xe9 at offset 3"),
        ("one".encode("utf-16"), r"1\.txt: expected UTF-8, found UTF-16"),
    ],
)
def test_other_encodings_are_named(folder, raw, message):
    (folder / "a/1.txt").write_bytes(raw)
    with pytest.raises(InputError, match=message):
        list(read_class_folders(folder))


def test_an_empty_class_is_an_error(folder):
    (folder / "c").mkdir()
    with pytest.raises(InputError, match='class "c", found an empty folder'):
        list(read_class_folders(folder))


def test_folders_in_a_class_are_an_error(folder):
    (folder / "b/deep").mkdir()
    with pytest.raises(InputError, match="found a folder"):
        list(read_class_folders(folder))


def test_no_class_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="expected one sub-folder a class"):
        list(read_class_folders(tmp_path))
