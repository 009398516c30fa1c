"""Which files of a folder are training, validation and test data."""

import pathlib
import re

from pipelines.data.class_folders import visible_entries
from pipelines.data.hf_disk import hf_splits, is_hf_disk
from pipelines.errors import InputError

# The reader of each suffix stands in sources.py.
DATA_SUFFIXES = (
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".parquet",
)
_COMPRESSED = (".gz", ".bz2", ".zip")

_SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
}


def data_suffix(path) -> str:
    """The suffix that tells the format: `.csv` of `train.csv.gz`."""
    path = pathlib.Path(path)
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
    return path.suffix.lower()


def split_of(name: str) -> str | None:
    """The split that a name speaks of: `sst2-dev.tsv` -> "validation".

    One of the name's words must be the usual word for a split, and no other
    word another split's.
    """
    words = re.split(r"[^a-z]+", name.lower())
    found = {_SPLIT_WORDS[word] for word in words if word in _SPLIT_WORDS}
    return found.pop() if len(found) == 1 else None


def folder_splits(
    folder: pathlib.Path,
) -> tuple[dict[str, list[pathlib.Path]], list[str]]:
    """Finds the parts of a folder, in any of the layouts that people use.

    In this order: what `save_to_disk` wrote; files or sub-folders named after
    splits; shards of one format; one sub-folder a class.

    Returns:
        Paths by split, and the names of data that no split takes. A folder
        that is one undivided data set is all "train".
    """
    if is_hf_disk(folder):
        named = hf_splits(folder)
        return by_split(named) if named else ({"train": [folder]}, [])
    entries = visible_entries(folder)
    files = [
        e for e in entries if e.is_file() and data_suffix(e) in DATA_SUFFIXES
    ]
    folders = [e for e in entries if e.is_dir()]
    if any(split_of(file.name) for file in files):
        return by_split({file.name: file for file in files})
    if files:
        return {"train": _shards(folder, files)}, []
    if _are_splits(folders):
        return by_split({entry.name: entry for entry in folders})
    if [entry.name for entry in folders] == ["data"]:  # a clone from the hub
        return folder_splits(folders[0])
    if folders:
        return {"train": [folder]}, []
    names = ", ".join(entry.name for entry in entries[:10]) or "nothing"
    raise InputError(
        f"{folder}: expected data files ({', '.join(DATA_SUFFIXES)}), "
        "sub-folders with one class each, or what save_to_disk wrote; "
        f"found {names}."
    )


def by_split(named: dict) -> tuple[dict[str, list], list[str]]:
    """Groups by split what is named; the second result is what is left."""
    parts, unused = {}, []
    for name, place in named.items():
        split = split_of(name)
        if split is None:
            unused.append(name)
        else:
            parts.setdefault(split, []).append(place)
    return parts, unused


def _are_splits(folders: list[pathlib.Path]) -> bool:
    splits = [split_of(entry.name) for entry in folders]
    return "train" in splits and None not in splits


def _shards(folder: pathlib.Path, files: list) -> list[pathlib.Path]:
    formats = {data_suffix(file) for file in files}
    if formats == {".json"} or len(formats) > 1:
        raise InputError(
            f"{folder}: cannot tell which of {', '.join(f.name for f in files)}"
            " are the data; name one file, or call the files train, "
            "validation and test."
        )
    return files
