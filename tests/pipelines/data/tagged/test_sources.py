import gzip
import json
import pathlib

import pytest

from pipelines.data.tagged.reading import read_tagged
from pipelines.data.tagged.sources import load_tagged_splits
from pipelines.errors import InputError

SHARED = pathlib.Path(__file__).parents[3].parent / "shared" / "data"
TWENTY = "".join(f"-DOCSTART- O\n\nw{i} B-X\nx O\n\n" for i in range(20))


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("suffix", ["conll", "txt", "bio", "iob", "tsv"])
def test_column_files(write, suffix):
    (example,) = read_tagged(write(f"a.{suffix}", "Kofi x B-PER\n"))
    assert (example.tokens, example.tags) == (("Kofi",), ("B-PER",))


@pytest.mark.parametrize("tag", [1, "1", "-2"])
def test_columns_by_number(write, tag):
    path = write("a.conll", "Kofi x B-PER\n")
    (example,) = read_tagged(path, word="2", tag=tag)
    assert (example.tokens, example.tags) == (("B-PER",), ("x",))


def test_column_by_name_needs_fields(write):
    with pytest.raises(InputError, match="--tag: expected the number of a co"):
        read_tagged(write("a.conll", "a O\n"), tag="upos")


def test_compressed_suffix(tmp_path):
    path = tmp_path / "a.conll.gz"
    path.write_bytes(gzip.compress(b"a O\n"))
    assert len(list(read_tagged(path))) == 1


def test_conllu(write):
    path = write("a.conllu", "1\ta\t_\tDET\tDT\t_\t_\t_\t_\tk=v\n")
    assert next(read_tagged(path)).tags == ("DET",)
    assert next(read_tagged(path, tag="misc:k")).tags == ("v",)


@pytest.mark.parametrize(
    ("record", "options"),
    [
        ({"tokens": ["a"], "tags": ["B-X"]}, {}),
        ({"words": ["a"], "ner_tags": ["B-X"]}, {}),
        ({"w": ["a"], "t": ["B-X"]}, {"word": "w", "tag": "t"}),
        ({"text": "a", "spans": [[0, 1, "X"]]}, {}),
        ({"text": "a", "label": [[0, 1, "X"]]}, {}),
        ({"body": "a", "ents": [[0, 1, "X"]]}, {"word": "body", "tag": "ents"}),
    ],
)  # fmt: skip
def test_json_lines_by_their_fields(write, record, options):
    path = write("a.jsonl", json.dumps(record))
    if "body" in record:
        with pytest.raises(InputError, match="expected the fields"):
            list(read_tagged(path))
    (example,) = read_tagged(path, **options)
    assert (example.tokens, example.tags) == (("a",), ("B-X",))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "found no sentences"),
        ("a.jsonl", '{"text": "a"}', "expected the fields 'tokens' and 'tags'"),
        ("a.xlsx", "", "unknown format .xlsx for tagging; expected one of"),
        ("a", "", r"unknown format \(no suffix\)"),
    ],
)
def test_unreadable_sources(write, name, content, message):
    with pytest.raises(InputError, match=message):
        list(read_tagged(write(name, content)))


def test_missing_file():
    with pytest.raises(InputError, match="nowhere.conll: no such file"):
        load_tagged_splits("nowhere.conll")


def test_one_file_is_split_by_document(write):
    splits = load_tagged_splits(write("a.conll", TWENTY))
    sizes = [len(splits.train), len(splits.validation), len(splits.test)]
    assert sizes == [16, 2, 2]
    assert any("split by document with seed 42" in n for n in splits.notes)
    assert "train: 16 sentences, 32 words, 16 documents" in splits.notes


def test_validation_is_split_off_training_data(write):
    splits = load_tagged_splits(
        train=write("a.conll", TWENTY), test=write("b.conll", "a O\n")
    )
    sizes = [len(splits.train), len(splits.validation), len(splits.test)]
    assert sizes == [18, 2, 1]


def test_given_splits_are_kept(write):
    splits = load_tagged_splits(
        train=write("a.conll", TWENTY), validation=write("b.conll", "a O\n")
    )
    sizes = [len(splits.train), len(splits.validation), len(splits.test)]
    assert sizes == [20, 1, 0]


def test_folder_of_named_files(write, tmp_path):
    write("train.bio", TWENTY)
    write("dev.bio", "a O\n")
    write("README.txt", "Data.")
    splits = load_tagged_splits(str(tmp_path))
    sizes = [len(splits.train), len(splits.validation), len(splits.test)]
    assert sizes == [20, 1, 0]


def test_folder_of_unnamed_files(write, tmp_path):
    write("a.bio", TWENTY)
    write("b.bio", TWENTY)
    with pytest.raises(InputError, match="cannot tell which of a.bio, b.bio"):
        load_tagged_splits(str(tmp_path))


def test_shards_do_not_share_documents(write, tmp_path):
    write("train-1.bio", TWENTY)
    write("train-2.bio", TWENTY)
    write("test.bio", "a O\n")
    splits = load_tagged_splits(str(tmp_path))
    documents = {*splits.train.documents, *splits.validation.documents}
    assert len(documents) == 40


def test_data_and_train_exclude_each_other():
    with pytest.raises(InputError, match="--data and --train were both given"):
        load_tagged_splits("a.conll", train="b.conll")


def test_training_data_are_needed(write):
    with pytest.raises(InputError, match="expected training data"):
        load_tagged_splits(test=write("b.conll", "a O\n"))


def test_changed_spans_are_told(write):
    record = json.dumps({"text": "abc de", "spans": [[0, 2, "X"]]})
    splits = load_tagged_splits(write("a.jsonl", f"{record}\n" * 20))
    assert any("20 widened to whole words" in note for note in splits.notes)


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared data absent")
def test_wikigold_is_split_by_document():
    splits = load_tagged_splits(str(SHARED / "wikigold.conll.txt"))
    documents = [
        {e.document for e in part}
        for part in (splits.train, splits.validation, splits.test)
    ]
    assert [len(part) for part in documents] == [117, 14, 14]
