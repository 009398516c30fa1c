import pathlib

import pytest

from pipelines.data.layouts import data_suffix, folder_splits, split_of
from pipelines.errors import InputError


@pytest.mark.parametrize(
    "name, suffix",
    [
        ("a.csv", ".csv"),
        ("a.CSV", ".csv"),
        ("a.csv.gz", ".csv"),
        ("a.tsv.BZ2", ".tsv"),
        ("a.b.jsonl.zip", ".jsonl"),
        ("a.gz", ""),
        ("a", ""),
        (".csv", ""),
    ],
)
def test_the_suffix_tells_the_format(name, suffix):
    assert data_suffix(pathlib.Path("dir.csv") / name) == suffix


@pytest.mark.parametrize(
    "name, split",
    [
        ("train.csv", "train"),
        ("Training.tsv", "train"),
        ("train-00000-of-00002.parquet", "train"),
        ("sst2_train_v2.csv", "train"),
        ("dev.tsv", "validation"),
        ("valid.jsonl", "validation"),
        ("val1.csv", "validation"),
        ("en-ud-dev.csv.gz", "validation"),
        ("validation_matched", "validation"),
        ("test.jsonl", "test"),
        ("testing.csv", "test"),
        ("latest.csv", None),
        ("trains.csv", None),
        ("contest.csv", None),
        ("train_test.csv", None),
        ("data.csv", None),
        ("", None),
    ],
)
def test_names_tell_splits(name, split):
    assert split_of(name) == split


@pytest.fixture
def tree(tmp_path):
    def tree(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("x")
        return tmp_path

    return tree


def relative(parts, root):
    return {
        name: [path.relative_to(root).as_posix() for path in paths]
        for name, paths in parts.items()
    }


@pytest.mark.parametrize(
    "names, expected",
    [
        (
            ["train.csv", "test.jsonl", "dev.tsv", "README.md", ".cache"],
            {
                "train": ["train.csv"],
                "validation": ["dev.tsv"],
                "test": ["test.jsonl"],
            },
        ),
        (
            ["train-0.parquet", "train-1.parquet"],
            {"train": ["train-0.parquet", "train-1.parquet"]},
        ),
        (["b.csv", "a.csv", "notes.txt"], {"train": ["a.csv", "b.csv"]}),
        (["README.md", "data/train.csv"], {"train": ["data/train.csv"]}),
        (["pos/1.txt", "neg/1.txt", "README"], {"train": ["."]}),
        (["test/1.txt", "prod/1.txt"], {"train": ["."]}),
        (
            ["train/pos/1.txt", "test/pos/1.txt"],
            {"train": ["train"], "test": ["test"]},
        ),
        (["dataset_info.json", "state.json", "x.arrow"], {"train": ["."]}),
    ],
)
def test_layouts_are_recognised(tree, names, expected):
    root = tree(*names)
    parts, _ = folder_splits(root)
    assert relative(parts, root) == expected


def test_data_that_no_split_takes_are_told(tree):
    _, unused = folder_splits(tree("train.csv", "labels.csv", "notes.txt"))
    assert unused == ["labels.csv"]


@pytest.mark.parametrize("names", [["a.csv", "b.jsonl"], ["only.json"]])
def test_unclear_folders_are_an_error(tree, names):
    with pytest.raises(InputError, match="cannot tell which of"):
        folder_splits(tree(*names))


@pytest.mark.parametrize(
    "names, found", [([], "found nothing"), (["a.txt", "b.py"], "a.txt, b.py")]
)
def test_folders_of_no_data_list_what_is_known(tree, names, found):
    with pytest.raises(InputError, match=rf"\.csv, \.tsv.*{found}"):
        folder_splits(tree(*names))
