"""Rows out of Arrow batches, as Parquet and Hugging Face folders hold them."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from pipelines.errors import InputError


def require_pyarrow(path):
    """Imports pyarrow, or says how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise InputError(
            f"{path}: reading this format needs pyarrow: "
            'pip install "keras-encoder[parquet]"'
        ) from error
    return pyarrow


@contextlib.contextmanager
def arrow_errors(path, expected: str) -> Iterator[None]:
    """Turns what pyarrow raises on damaged files into an InputError."""
    pyarrow = require_pyarrow(path)
    try:
        yield
    except (
        pyarrow.ArrowException,
        OSError,
        UnicodeDecodeError,
        KeyError,
    ) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{path}: expected {expected}, but it cannot be read ({reason})."
        ) from error


def class_names(features) -> dict[str, list[str]]:
    """Names of the ClassLabel columns among Hugging Face `features`.

    A list of class labels (a tag sequence) counts, in each of the three ways
    in which versions of `datasets` have written it.
    """
    if not isinstance(features, Mapping):
        return {}
    found = {}
    for column, feature in features.items():
        while True:
            if isinstance(feature, list) and len(feature) == 1:
                feature = feature[0]
            elif isinstance(feature, Mapping) and "feature" in feature:
                feature = feature["feature"]
            else:
                break
        if isinstance(feature, Mapping) and (
            feature.get("_type") == "ClassLabel"
        ):
            names = feature.get("names")
            if isinstance(names, list) and names:
                found[column] = [str(name) for name in names]
    return found


def decode_rows(
    batches: Iterable, names: Mapping[str, list[str]], source: str
) -> Iterator[tuple[str, dict]]:
    """Yields `(where, row)` with class ids replaced by their names."""
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            where = f"{source}, row {number}"
            for column, classes in names.items():
                if column in row:
                    row[column] = name_of(row[column], classes, where)
            yield where, row


def name_of(value, classes: list[str], where: str):
    """The name of a class id; None for -1, which means "unlabelled"."""
    if isinstance(value, list):
        return [name_of(item, classes, where) for item in value]
    if value is None or isinstance(value, str):
        return value
    if value == -1:
        return None
    if not isinstance(value, int) or not 0 <= value < len(classes):
        raise InputError(
            f"{where}: expected a class id from 0 to {len(classes) - 1}, "
            f"found {value!r:.40}."
        )
    return classes[value]
