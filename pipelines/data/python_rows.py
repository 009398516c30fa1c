"""Data from Python: tables, data sets and iterables instead of files.

Nothing is imported for it: what a pandas `DataFrame` or a `datasets.Dataset`
is shows in its methods.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping

from pipelines.data.arrow_rows import name_of
from pipelines.data.columns import examples_from_rows
from pipelines.data.examples import TaggedExample, TextExample
from pipelines.errors import InputError

# How saved options name data that no file holds.
FROM_PYTHON = "from Python: "
_MISSING = {"NAType", "NaTType"}  # pandas' own values for "nothing here"


def is_from_python(source) -> bool:
    """Whether a source is an object, not the name of a file or data set."""
    return not isinstance(source, str | os.PathLike)


def source_name(source) -> str:
    """What messages call a source: its path, or `a DataFrame`."""
    if is_from_python(source):
        return f"a {type(source).__name__}"
    return str(source)


def refuse_saved(source) -> None:
    """Raises InputError if a source is what options say of Python data."""
    if isinstance(source, str) and source.startswith(FROM_PYTHON):
        raise InputError(
            f"{source!r}: these data were given in Python and are not saved "
            "with the options; give them again, or a file of them."
        )


def read_python(
    source,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Yields the rows of a Python object, one at a time.

    Args:
        source: a pandas `DataFrame`, a `datasets.Dataset` (class ids come out
            as their names, -1 as None), or an iterable of mappings, of (text,
            label) pairs or of `TextExample`s. It is read once.
        text, text_pair, label: column names; None to detect.
        labelled: whether data without a label column is an error.
    """
    rows = rows_of(source, ("text", "label"), TextExample)
    yield from examples_from_rows(rows, text, text_pair, label, labelled)


def rows_of(
    source, pair: tuple[str, str], example: type
) -> Iterator[tuple[str, Mapping | TextExample | TaggedExample]]:
    """Yields `(where, row)`; a row is a mapping or an example.

    Args:
        source: as for `read_python`.
        pair: the fields that a row of two values has.
        example: the kind of example that may stand instead of a row.
    """
    place, kinds = source_name(source), set()
    for number, row in enumerate(_rows(source), start=1):
        where = f"{place}, row {number}"
        kinds.add(isinstance(row, example))
        if len(kinds) > 1:
            raise InputError(
                f"{where}: expected rows of one kind, found {example.__name__}s"
                " and others."
            )
        if isinstance(row, example):
            yield where, _checked(row, where)
        elif isinstance(row, Mapping):
            yield where, {str(k): _plain(v) for k, v in row.items()}
        elif isinstance(row, tuple | list) and len(row) == 2:
            yield where, dict(zip(pair, map(_plain, row), strict=True))
        else:
            raise InputError(
                f"{where}: expected a dict or a ({', '.join(pair)}) pair, "
                f"found {type(row).__name__} {row!r:.60}."
            )


def _rows(source) -> Iterator:
    if hasattr(source, "itertuples") and hasattr(source, "columns"):
        return _table_rows(source)
    if hasattr(source, "column_names") and hasattr(source, "features"):
        return _data_set_rows(source)
    if isinstance(source, Mapping) or not hasattr(source, "__iter__"):
        raise InputError(
            f"{source_name(source)}: expected a DataFrame, a Dataset, or an "
            "iterable of dicts or pairs; several splits are a dict with the "
            "keys train, validation and test."
        )
    return iter(source)


def _table_rows(frame) -> Iterator[dict]:
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise InputError(
            f"{source_name(frame)}: expected columns with different names, "
            f"found {', '.join(names)}."
        )
    for values in frame.itertuples(index=False, name=None):
        yield dict(zip(names, values, strict=True))


def _data_set_rows(data) -> Iterator[dict]:
    classes = {}
    for column, feature in (data.features or {}).items():
        while not hasattr(feature, "names"):
            if isinstance(feature, list) and feature:
                feature = feature[0]
            elif hasattr(feature, "feature"):
                feature = feature.feature
            else:
                break
        if getattr(feature, "names", None):
            classes[column] = list(feature.names)
    if hasattr(data, "with_format"):
        data = data.with_format(None)  # plain values, not tensors
    for number, row in enumerate(data, start=1):
        where = f"{source_name(data)}, row {number}"
        for column, names in classes.items():
            row[column] = name_of(row[column], names, where)
        yield row


def _checked(example, where):
    """An example that was made by hand, as readers make them."""
    values = {
        field.name: _all_plain(getattr(example, field.name))
        for field in dataclasses.fields(example)
    }
    values["where"] = where = str(values["where"] or where)
    strings = ("tokens", "tags") if "tokens" in values else ("text",)
    for name in strings:
        value = values[name]
        parts = (value,) if name == "text" else value
        if not isinstance(parts, tuple) or not all(
            isinstance(part, str) for part in parts
        ):
            kind = "a string" if name == "text" else "a tuple of strings"
            raise InputError(
                f"{where}: expected {kind} as {name}, found {value!r:.60}."
            )
    if "tokens" in values and len(values["tokens"]) != len(values["tags"]):
        raise InputError(
            f"{where}: expected one tag a word, found {len(values['tokens'])} "
            f"tokens and {len(values['tags'])} tags."
        )
    if not isinstance(values.get("document", 0), int):
        raise InputError(
            f"{where}: expected the number of a document, found "
            f"{values['document']!r:.60}."
        )
    if not isinstance(values["id"], str | int):
        values["id"] = None
    return type(example)(**values)


def _all_plain(value):
    """`_plain`, inside of lists and tuples too, which become tuples."""
    value = _plain(value)
    if isinstance(value, tuple | list):
        return tuple(map(_all_plain, value))
    return value


def _plain(value):
    """NumPy's values and pandas' missing ones as Python's own."""
    if type(value).__name__ in _MISSING:
        return None
    return value.tolist() if hasattr(value, "tolist") else value
