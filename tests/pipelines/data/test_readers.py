import bz2
import gzip
import io
import os
import subprocess
import sys
import zipfile

import pytest

from pipelines.data.readers import read_examples
from pipelines.errors import InputError

CSV = b"text,label\na,x\nb,y\n"
CONTENT = {
    "csv": CSV,
    "tsv": CSV.replace(b",", b"\t"),
    "jsonl": b'{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n',
}
CONTENT["ndjson"] = CONTENT["json"] = CONTENT["jsonl"]


def zipped(*names, data=CSV):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return stream.getvalue()


PACK = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zip": lambda data: zipped("a", data=data),
    ".GZ": gzip.compress,
}


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("packing", PACK)
def test_the_suffix_picks_the_reader(tmp_path, suffix, packing):
    path = tmp_path / f"a.{suffix}{packing}"
    path.write_bytes(PACK[packing](CONTENT[suffix]))
    found = [(e.text, e.label) for e in read_examples(path)]
    assert found == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize("packing", [".gz", ".bz2", ".zip"])
@pytest.mark.parametrize("keep", [0, 5, -9])
def test_damaged_archives_are_named(tmp_path, packing, keep):
    path = tmp_path / f"a.csv{packing}"
    path.write_bytes(PACK[packing](CSV * 1000)[:keep])
    with pytest.raises(InputError, match=r"a\.csv"):
        list(read_examples(path))


@pytest.mark.parametrize("packing", [".gz", ".bz2"])
def test_flipped_bits_in_archives_are_named(tmp_path, packing):
    raw = bytearray(PACK[packing](CSV * 1000))
    raw[len(raw) // 2] ^= 0xFF
    path = tmp_path / f"a.csv{packing}"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"a\.csv"):
        list(read_examples(path))


def test_what_macos_adds_to_archives_is_left_out(tmp_path):
    path = tmp_path / "a.csv.zip"
    path.write_bytes(zipped("a.csv", "__MACOSX/._a.csv"))
    assert len(list(read_examples(path))) == 2


def test_an_archive_of_two_files_is_an_error(tmp_path):
    path = tmp_path / "a.csv.zip"
    path.write_bytes(zipped("a.csv", "b.csv"))
    with pytest.raises(InputError, match="archive of one file, found 2"):
        list(read_examples(path))


@pytest.mark.parametrize(
    "name", ["no.csv", "no/such/folder", "", "x\0y.csv", "long" * 2000, "-"]
)
def test_missing_files_are_named_before_reading(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    if name == "":
        name = tmp_path / "gone"
    with pytest.raises(InputError, match="no such file or folder; expected"):
        read_examples(name)


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.txt", "a.gz", "a.csv.xz"])
def test_unknown_formats_list_the_known_ones(tmp_path, name):
    (tmp_path / name).write_bytes(CSV)
    with pytest.raises(InputError, match=r"unknown format.*\.csv, \.tsv"):
        read_examples(tmp_path / name)


def test_columns_are_passed_on(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"one,two,mood\na,b,x\n")
    (found,) = read_examples(tmp_path / "a.csv", "one", "two", "mood")
    assert (found.text, found.text_pair, found.label) == ("a", "b", "x")


def test_unlabelled_files_are_read_where_allowed(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"text\na\n")
    (found,) = read_examples(tmp_path / "a.csv", labelled=False)
    assert found.label is None


@pytest.mark.parametrize("labelled", [True, False])
def test_shards_of_one_format_are_one_data_set(tmp_path, labelled):
    (tmp_path / "1.csv").write_bytes(CSV)
    (tmp_path / "2.csv").write_bytes(CSV)
    found = [e.text for e in read_examples(tmp_path, labelled=labelled)]
    assert found == ["a", "b", "a", "b"]


def test_class_folders_are_read(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x/1.txt").write_text("a")
    (found,) = read_examples(tmp_path)
    assert (found.text, found.label) == ("a", "x")


def test_a_folder_of_splits_is_not_one_data_set(tmp_path):
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_bytes(CSV)
    with pytest.raises(InputError, match="holds the splits test, train"):
        read_examples(tmp_path)


def test_a_folder_of_one_split_is_read(tmp_path):
    (tmp_path / "test.csv").write_bytes(CSV)
    assert len(list(read_examples(tmp_path))) == 2


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="found nothing"):
        read_examples(tmp_path)


@pytest.mark.parametrize("option", ["text", "text_pair", "label"])
def test_sources_without_columns_take_no_column_names(tmp_path, option):
    (tmp_path / "x").mkdir()
    (tmp_path / "x/1.txt").write_text("a")
    for source in (tmp_path, "bbc_news"):
        with pytest.raises(InputError, match="has no columns; drop --text"):
            read_examples(source, **{option: "a"})


def test_reading_names_utf8_whatever_the_system_says(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nŁódź “quoted”,Zürich\n".encode())
    code = (
        "from pipelines.data.readers import read_examples\n"
        f"rows = read_examples({str(path)!r})\n"
        "print(ascii([(e.text, e.label) for e in rows]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {
            "PYTHONUTF8": "0",
            "LC_ALL": "C",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONPATH": ":".join(sys.path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == ascii([("Łódź “quoted”", "Zürich")])
