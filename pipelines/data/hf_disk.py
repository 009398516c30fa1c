"""Folders that Hugging Face `Dataset.save_to_disk` wrote."""

import json
import pathlib
from collections.abc import Iterator

from pipelines.data.arrow_rows import (
    arrow_errors,
    class_names,
    decode_rows,
    require_pyarrow,
)
from pipelines.data.columns import choose_columns, example_from
from pipelines.data.examples import TextExample
from pipelines.errors import InputError

_DICT, _STATE, _INFO = "dataset_dict.json", "state.json", "dataset_info.json"


def is_hf_disk(path) -> bool:
    """Whether a folder holds a saved Dataset or DatasetDict."""
    path = pathlib.Path(path)
    return (path / _DICT).is_file() or (
        (path / _STATE).is_file() or (path / _INFO).is_file()
    )


def hf_splits(path) -> dict[str, pathlib.Path]:
    """The splits of a saved DatasetDict: name to folder.

    A single saved Dataset has none: the result is empty.
    """
    path = pathlib.Path(path)
    if not (path / _DICT).is_file():
        return {}
    splits = _read_json(path / _DICT).get("splits")
    if not isinstance(splits, list) or not splits:
        raise InputError(f'{path / _DICT}: expected a list "splits".')
    folders = {str(name): path / str(name) for name in splits}
    for name, folder in folders.items():
        if not folder.is_dir():
            raise InputError(
                f'{path}: split "{name}" is listed in {_DICT}, but its folder '
                "is missing."
            )
    return folders


def read_hf_disk(
    path,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Yields the rows of one saved Dataset, one Arrow batch at a time.

    Class ids come out as their names; -1 comes out as None.

    Args and errors: as for `pipelines.data.csv_files.read_csv`; rows count
    from 1.
    """
    found = _column_names(path)
    columns = choose_columns(found, str(path), text, text_pair, label, labelled)
    for where, row in read_hf_rows(path, columns.names()):
        yield example_from(row, columns, where)


def read_hf_rows(
    path, columns: list[str] | None = None
) -> Iterator[tuple[str, dict]]:
    """Yields `(where, row)` of one saved Dataset, class ids as names."""
    pyarrow = require_pyarrow(path)
    path = pathlib.Path(path)
    info = _read_json(path / _INFO) if (path / _INFO).is_file() else {}
    names = class_names(info.get("features"))

    def batches():
        for file in _data_files(path):
            with (
                arrow_errors(file, "an Arrow file"),
                pyarrow.memory_map(str(file)) as source,
                pyarrow.ipc.open_stream(source) as reader,
            ):
                for batch in reader:
                    # Offsets of a damaged file would lead out of its memory.
                    batch.validate(full=True)
                    # One batch may be a whole million rows; cut it up.
                    for start in range(0, batch.num_rows, 1024):
                        part = batch.slice(start, 1024)
                        yield part.select(columns) if columns else part

    with arrow_errors(path, "a saved Dataset"):
        yield from decode_rows(batches(), names, str(path))


def _column_names(path) -> list[str]:
    pyarrow = require_pyarrow(path)
    file = _data_files(pathlib.Path(path))[0]
    with (
        arrow_errors(file, "an Arrow file"),
        pyarrow.memory_map(str(file)) as source,
        pyarrow.ipc.open_stream(source) as reader,
    ):
        return reader.schema.names


def _data_files(path: pathlib.Path) -> list[pathlib.Path]:
    if hf_splits(path):
        raise InputError(
            f"{path}: holds the splits {', '.join(hf_splits(path))}; name the "
            "sub-folder of one."
        )
    if not (path / _STATE).is_file():
        raise InputError(
            f"{path}: expected a folder written by save_to_disk, but "
            f"{_STATE} is missing; save it again."
        )
    state = _read_json(path / _STATE)
    if state.get("_indices_data_files"):
        raise InputError(
            f"{path}: saved as a selection of rows; call flatten_indices() "
            "before save_to_disk()."
        )
    try:
        files = [path / entry["filename"] for entry in state["_data_files"]]
    except (KeyError, TypeError) as error:
        raise InputError(
            f'{path / _STATE}: expected a list "_data_files" of file names.'
        ) from error
    missing = [file.name for file in files if not file.is_file()]
    if missing or not files:
        raise InputError(
            f"{path}: the data file {missing[0] if missing else ''} that "
            f"{_STATE} lists is missing; copy the whole folder."
        )
    return files


def _read_json(path: pathlib.Path) -> dict:
    try:
        value = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object.")
    return value
