"""Whatever a file holds: examples, or the project's own error."""

import bz2
import gzip
import io
import zipfile

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TextExample
from pipelines.data.readers import read_examples
from pipelines.errors import InputError

bounded = hypothesis.settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
TEXT_SUFFIXES = [".csv", ".tsv", ".jsonl"]

SEEDS = {
    ".csv": '\ufefftext,label\n"a ""b""\nc",x\nd,y\n'.encode(),
    ".tsv": b'text\tlabel\n"a\t""b"\tx\r\nd\ty\n',
    ".jsonl": b'{"text": "\\ud83d\\ude42", "label": [1, 2.5]}\n\n{"text": "b"}',
}
PACKED = {
    ".csv.gz": gzip.compress(SEEDS[".csv"] * 20),
    ".tsv.bz2": bz2.compress(SEEDS[".tsv"] * 20),
}


def read_or_refuse(path):
    try:
        examples = list(read_examples(path, labelled=False))
    except InputError as error:
        assert path.name in str(error)
    else:
        assert all(isinstance(e, TextExample) for e in examples)
        assert all(e.text.encode("utf-8") is not None for e in examples)


def mutate(data):
    """Bytes like `data`: cut, with some of them replaced."""
    return st.builds(
        lambda end, edits: _edited(data[:end], edits),
        st.integers(0, len(data)),
        st.lists(
            st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=4
        ),
    )


def _edited(data, edits):
    data = bytearray(data)
    for place, byte in edits:
        if data:
            data[place % len(data)] = byte
    return bytes(data)


@pytest.mark.parametrize(
    "suffix", [*TEXT_SUFFIXES, *PACKED, ".parquet", ".csv.zip"]
)
@hypothesis.given(raw=st.binary(max_size=200))
@bounded
def test_random_bytes(tmp_path, suffix, raw):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(raw)
    read_or_refuse(path)


@pytest.mark.parametrize("suffix", TEXT_SUFFIXES)
@hypothesis.given(data=st.data())
@bounded
def test_damaged_text_files(tmp_path, suffix, data):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data.draw(mutate(SEEDS[suffix])))
    read_or_refuse(path)


@pytest.mark.parametrize("suffix", PACKED)
@hypothesis.given(data=st.data())
@bounded
def test_damaged_archives(tmp_path, suffix, data):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data.draw(mutate(PACKED[suffix])))
    read_or_refuse(path)


@hypothesis.given(data=st.data())
@bounded
def test_damaged_zip(tmp_path, data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", SEEDS[".csv"] * 20)
    path = tmp_path / "a.csv.zip"
    path.write_bytes(data.draw(mutate(stream.getvalue())))
    read_or_refuse(path)


@pytest.mark.parametrize(
    ("place", "change"),
    [(6, 251), (28, 0)],  # the version that it needs; the name's length
)
def test_a_zip_of_an_odd_kind_is_named(tmp_path, place, change):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", SEEDS[".csv"])
    raw = bytearray(stream.getvalue())
    raw[raw.index(b"PK\x01\x02") + place] = change
    path = tmp_path / "a.csv.zip"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"a\.csv\.zip"):
        list(read_examples(path))


@hypothesis.given(data=st.data())
@bounded
def test_damaged_parquet(tmp_path, data):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "label": [1, 2]}), path)
    path.write_bytes(data.draw(mutate(path.read_bytes())))
    read_or_refuse(path)
