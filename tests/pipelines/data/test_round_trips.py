"""What other libraries write is read as it was."""

import bz2
import gzip
import json
import pathlib
import tempfile
import zipfile

import hypothesis
import pytest
from hypothesis import strategies as st

from pipelines.data.readers import read_examples
from pipelines.data.tagged.reading import read_tagged

few = hypothesis.settings(max_examples=30, deadline=None)
# Any text that can be written as UTF-8.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# As a whole cell or line, a byte-order mark is no text: files begin with it.
CELL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff"),
    max_size=12,
)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


def pairs_of(source):
    return [(e.text, e.label) for e in read_examples(source)]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@hypothesis.given(pairs=PAIRS)
@few
def test_parquet_by_pyarrow(compression, pairs):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    texts, labels = map(list, zip(*pairs, strict=True))
    with tempfile.TemporaryDirectory() as name:
        path = f"{name}/a.parquet"
        table = pa.table({"text": texts, "label": labels})
        pq.write_table(table, path, compression=compression, row_group_size=2)
        assert pairs_of(path) == pairs


@hypothesis.given(pairs=PAIRS, shards=st.integers(1, 2))
@few
def test_saved_data_sets(pairs, shards):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    rows = [{"text": text, "label": label} for text, label in pairs]
    data = datasets.Dataset.from_list(rows)
    with tempfile.TemporaryDirectory() as name:
        data.save_to_disk(name, num_shards=min(shards, len(rows)))
        assert pairs_of(name) == pairs


@hypothesis.given(pairs=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6))
@few
def test_csv_by_pandas(pairs):
    pd = pytest.importorskip("pandas")
    with tempfile.TemporaryDirectory() as name:
        path = f"{name}/a.csv.gz"
        frame = pd.DataFrame(pairs, columns=["text", "label"])
        frame.to_csv(path, index=False)
        assert pairs_of(path) == pairs


@hypothesis.given(texts=st.lists(TEXT, min_size=1, max_size=4))
@few
def test_one_text_a_file(texts):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "a"
        folder.mkdir()
        for i, text in enumerate(texts):
            (folder / f"{i}.txt").write_bytes(text.encode("utf-8-sig"))
        found = [e.text for e in read_examples(name)]
        assert found == texts


WORDS = st.lists(st.tuples(TEXT, st.text("BIO-XY", min_size=1, max_size=3)))


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zip"])
@hypothesis.given(sentences=st.lists(WORDS, min_size=1, max_size=4))
@few
def test_tagged_json_lines_in_archives(suffix, sentences):
    raw = "\n".join(
        json.dumps({"tokens": [w for w, _ in s], "tags": [t for _, t in s]})
        for s in sentences
    ).encode()
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / f"a.jsonl{suffix}"
        if suffix == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a.jsonl", raw)
        else:
            pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(suffix)
            path.write_bytes(pack(raw) if pack else raw)
        found = [
            list(zip(e.tokens, e.tags, strict=True)) for e in read_tagged(path)
        ]
    assert found == sentences


COLUMN = st.text(
    st.characters(exclude_categories=["Cs", "Z", "C"], exclude_characters="#"),
    min_size=1,
    max_size=6,
).filter(lambda word: word != "-DOCSTART-")


@hypothesis.given(
    sentences=st.lists(
        st.lists(st.tuples(COLUMN, COLUMN), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    mark=st.sampled_from([" ", "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.sampled_from(["", "\ufeff"]),
)
@few
def test_columns(sentences, mark, end, bom):
    blank = end * 2
    content = blank.join(
        end.join(mark.join(pair) for pair in sentence) for sentence in sentences
    )
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "a.conll"
        path.write_bytes((bom + content).encode())
        found = [
            list(zip(e.tokens, e.tags, strict=True)) for e in read_tagged(path)
        ]
    assert found == sentences


@hypothesis.given(
    words=st.lists(st.text("aé🙂", min_size=1, max_size=4), min_size=1),
    data=st.data(),
)
@few
def test_spans_of_whole_words_are_their_tags(words, data):
    """A span from word to word gives B- to the first, I- to the others."""
    starts, position = [], 0
    for word in words:
        starts.append(position)
        position += len(word) + 1
    cuts = sorted(data.draw(st.sets(st.integers(0, len(words)), max_size=4)))
    spans, tags = [], ["O"] * len(words)
    for first, last in zip(cuts[::2], cuts[1::2], strict=False):
        end = starts[last - 1] + len(words[last - 1])
        spans.append([starts[first], end, "X"])
        tags[first:last] = ["B-X"] + ["I-X"] * (last - first - 1)
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "a.jsonl"
        record = {"text": " ".join(words), "spans": spans}
        path.write_text(json.dumps(record), "utf-8")
        (example,) = read_tagged(path)
    assert example.tokens == tuple(words)
    assert list(example.tags) == tags
