"""JSON lines: one object a line."""

import json
import re
from collections.abc import Iterator

from pipelines.data.columns import examples_from_rows
from pipelines.data.examples import TextExample
from pipelines.data.text_files import read_lines
from pipelines.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_jsonl(
    path,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Yields the objects of a JSON-lines file, one at a time.

    The first object decides which fields hold text and label; a second text
    that was not asked for may be there in some objects only. Blank lines are
    skipped.

    Args:
        path: a plain, gz, bz2 or zip file.
        text, text_pair, label: field names; None to detect.
        labelled: whether objects without a label are an error.

    Raises:
        InputError: naming file and line.
    """
    rows = ((f"{path}:{number}", row) for number, row in read_objects(path))
    yield from examples_from_rows(rows, text, text_pair, label, labelled)


def read_objects(path) -> Iterator[tuple[int, dict]]:
    """Yields `(line number, object)` of the lines that are not blank."""
    for number, line in read_lines(path):
        if line.strip():
            yield number, parse_object(line, f"{path}:{number}")


def parse_object(line: str, where: str, mend: bool = False) -> dict:
    """Parses one line; raises InputError unless it is one JSON object.

    Args:
        line: the line.
        where: the place to name in messages.
        mend: whether half an emoji (a lone surrogate) becomes U+FFFD; else
            it is an error.
    """
    try:
        # Not strict: control characters inside strings are text here.
        row = json.loads(line, parse_constant=_refuse, strict=False)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}: expected one JSON object a line, found broken JSON "
            f"({error.msg} at column {error.colno})."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: cannot be read as JSON ({error}).") from (
            error
        )
    if not isinstance(row, dict):
        raise InputError(
            f"{where}: expected one JSON object a line, such as "
            f'{{"text": "...", "label": "..."}}, found {_kind(row)}.'
        )
    if "\\u" in line and mend:
        text = json.dumps(row, ensure_ascii=False)
        return json.loads(_SURROGATE.sub("\ufffd", text))
    if "\\u" in line:
        _check_unicode(row, where)
    return row


def _refuse(constant: str):
    raise ValueError(f"{constant} is not a JSON value")


def _kind(value) -> str:
    if isinstance(value, list):
        return "an array"
    return f"{json.dumps(value):.40}"


def _check_unicode(row: dict, where: str) -> None:
    """Half a surrogate pair is no character and no encoder can take it."""
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        found = ord(error.object[error.start])
        raise InputError(
            f"{where}: expected Unicode text, found the lone surrogate "
            f"\\u{found:04x}; an emoji was cut in half there."
        ) from error
