"""The one reader that fits what a path names."""

import itertools
import os
import pathlib
from collections.abc import Iterator

from pipelines.data.bbc_news import read_bbc_news
from pipelines.data.class_folders import read_class_folders
from pipelines.data.csv_files import read_csv, read_tsv
from pipelines.data.examples import TextExample
from pipelines.data.hf_disk import is_hf_disk, read_hf_disk
from pipelines.data.jsonl import read_jsonl
from pipelines.data.layouts import DATA_SUFFIXES, data_suffix, folder_splits
from pipelines.data.parquet import read_parquet
from pipelines.data.python_rows import (
    is_from_python,
    read_python,
    refuse_saved,
)
from pipelines.data.tfds import read_tfds
from pipelines.errors import InputError

_READERS = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_jsonl,
    ".parquet": read_parquet,
}
_KNOWN = (
    f"a {', '.join(DATA_SUFFIXES)} file (also .gz, .bz2, .zip), a folder, "
    "bbc_news or tfds:NAME"
)


def read_examples(
    path,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
    data_dir: str | None = None,
) -> Iterator[TextExample]:
    """Yields the examples of one source, with labels as they stand there.

    Args:
        path: `bbc_news`, `tfds:NAME@SPLIT`, a file (format by suffix), a
            folder that holds one undivided data set, or a Python object as
            for `read_python`.
        text, text_pair, label: column names; None to detect.
        labelled: whether data without a label column is an error.
        data_dir: folder of prepared TensorFlow Datasets.

    Raises:
        InputError: at once if the source is missing or its format unknown;
            for what is wrong inside, while reading.
    """
    names = (text, text_pair, label)
    check_source(path)
    if is_from_python(path):
        return read_python(path, *names, labelled)
    if str(path).startswith("tfds:"):
        return read_tfds(str(path), *names, labelled, data_dir)
    if str(path) == "bbc_news":
        _refuse_columns(path, names)
        return read_bbc_news()
    if os.path.isdir(path):
        return _read_folder(pathlib.Path(path), names, labelled)
    return _READERS[data_suffix(path)](path, *names, labelled)


def check_source(path) -> None:
    """Raises InputError if a source is missing or of no known format."""
    if is_from_python(path):
        return
    refuse_saved(path)
    name = str(path)
    if name == "bbc_news" or name.startswith("tfds:") or os.path.isdir(path):
        return
    if not os.path.exists(path):
        raise InputError(
            f"{name:.200}: no such file or folder; expected {_KNOWN}."
        )
    if data_suffix(path) not in _READERS:
        raise InputError(
            f"{path}: unknown format {data_suffix(path) or '(no suffix)'}; "
            f"expected {_KNOWN}."
        )


def _read_folder(path, names, labelled) -> Iterator[TextExample]:
    parts, _ = folder_splits(path)
    if len(parts) != 1:
        raise InputError(
            f"{path}: holds the splits {', '.join(parts) or 'of no known name'}"
            "; name the file or sub-folder of one."
        )
    (sources,) = parts.values()
    if sources != [path]:
        return itertools.chain.from_iterable(
            read_examples(source, *names, labelled) for source in sources
        )
    if is_hf_disk(path):
        return read_hf_disk(path, *names, labelled)
    _refuse_columns(path, names)
    return read_class_folders(path)


def _refuse_columns(path, names) -> None:
    if any(name is not None for name in names):
        raise InputError(
            f"{path}: has no columns; drop --text, --text-pair and --label."
        )
