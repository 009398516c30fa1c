import builtins
import gzip
import itertools
import json

import pytest

from pipelines.data.examples import TextExample
from pipelines.data.parquet import read_parquet
from pipelines.errors import InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def write(tmp_path):
    def write(table, features=None, name="a.parquet", **options):
        table = table if isinstance(table, pa.Table) else pa.table(table)
        if features is not None:
            note = json.dumps({"info": {"features": features}})
            table = table.replace_schema_metadata({"huggingface": note})
        pq.write_table(table, tmp_path / name, **options)
        return tmp_path / name

    return write


def test_examples_say_where_they_stand(write):
    path = write({"label": ["x", "y"], "text": ["a", "b"], "id": [7, 8]})
    assert list(read_parquet(path)) == [
        TextExample("a", None, "x", f"{path}, row 1", 7),
        TextExample("b", None, "y", f"{path}, row 2", 8),
    ]


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, None],
        [1.0, float("inf"), 2.5],
        [True, False, None],
        ["x", "", None],
        [["a", "b"], [], None],
    ],
)
def test_labels_are_passed_on_as_they_are(write, labels):
    path = write({"text": ["a", "b", "c"], "label": labels})
    assert [e.label for e in read_parquet(path)] == labels


def test_categories_are_strings(write):
    text = pa.array(["a", "b", "a"]).dictionary_encode()
    path = write({"text": text, "label": text})
    assert [e.label for e in read_parquet(path)] == ["a", "b", "a"]


def test_stored_class_names_replace_class_ids(write):
    features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    path = write({"text": ["a", "b", "c"], "label": [1, 0, -1]}, features)
    assert [e.label for e in read_parquet(path)] == ["pos", "neg", None]


def test_a_class_id_without_name_is_an_error(write):
    features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    path = write({"text": ["a"], "label": [2]}, features)
    with pytest.raises(
        InputError, match="row 1: expected a class id from 0 to"
    ):
        list(read_parquet(path))


def test_broken_class_names_are_an_error(write):
    table = pa.table({"text": ["a"], "label": [1]})
    path = write(table.replace_schema_metadata({"huggingface": "{"}))
    with pytest.raises(InputError, match=r"a\.parquet: the class names"):
        list(read_parquet(path))


def test_a_null_text_names_the_row(write):
    path = write({"text": ["a", None], "label": ["x", "y"]})
    with pytest.raises(InputError, match="row 2: .*expected a text.*null"):
        list(read_parquet(path))


def test_rows_are_counted_across_groups_and_batches(write):
    count = 3000
    path = write(
        {"text": [str(i) for i in range(count)], "label": [0] * count},
        row_group_size=700,
    )
    examples = list(read_parquet(path))
    assert [e.text for e in examples] == [str(i) for i in range(count)]
    assert examples[-1].where == f"{path}, row 3000"


def test_a_file_of_no_rows_has_no_rows(write):
    empty = pa.table(
        {"text": pa.array([], "string"), "label": pa.array([], "int8")}
    )
    assert list(read_parquet(write(empty))) == []


def test_compressed_files_are_read(write, tmp_path):
    path = write({"text": ["a"], "label": ["x"]})
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert next(read_parquet(tmp_path / "a.parquet.gz")).text == "a"


def test_missing_columns_list_what_was_found(write):
    path = write({"a": ["x"], "label": ["x"]})
    with pytest.raises(InputError, match='a.parquet: .*the columns "a", "lab'):
        list(read_parquet(path))


def test_bytes_are_no_text(write):
    path = write({"text": [b"a"], "label": ["x"]})
    with pytest.raises(InputError, match="row 1: .*expected a text"):
        list(read_parquet(path))


@pytest.mark.parametrize("size", [0, 1, 4, 10, 200, -1, -20])
def test_damaged_files_are_named(write, size):
    path = write({"text": ["a"] * 99, "label": ["x"] * 99})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(InputError, match=r"a\.parquet: expected a Parquet"):
        list(read_parquet(path))


def test_reading_is_streaming(write):
    path = write({"text": ["a"] * 5000, "label": [1] * 5000})
    assert len(list(itertools.islice(read_parquet(path), 10))) == 10


def test_a_missing_library_gives_the_command(write, monkeypatch):
    path = write({"text": ["a"], "label": ["x"]})
    real = builtins.__import__

    def without_pyarrow(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(InputError, match=r'pip install "keras-encoder\[parq'):
        list(read_parquet(path))
