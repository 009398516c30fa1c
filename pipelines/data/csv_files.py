"""CSV and TSV files with a header line."""

import csv
import re
from collections.abc import Iterator

from pipelines.data.columns import choose_columns, example_from, list_names
from pipelines.data.examples import TextExample
from pipelines.data.text_files import read_lines
from pipelines.errors import InputError

# Python's default of 131072 characters is less than one long document; no
# limit at all would let one stray quote swallow the rest of a huge file.
_LONGEST_CELL = 1 << 27

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_QUOTED_OR_PLAIN = re.compile(r'"(?:[^"]|"")*"(?=\t|$)|[^\t]*')


def read_csv(
    path,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Yields the rows of a CSV file, one at a time.

    Cells are texts, whatever they spell: "NA", "null" and "1" stay as typed.
    Where the header holds no comma, a semicolon or a tab separates instead.
    Blank lines and repeated header lines (of concatenated files) are skipped;
    but in a table of one column a blank line is an empty text.

    Args:
        path: a plain, gz, bz2 or zip file.
        text, text_pair, label: column names; None to detect.
        labelled: whether a file without a label column is an error.

    Raises:
        InputError: naming file and line where the record starts.
    """
    records = _csv_records(path)
    yield from _examples(records, path, (text, text_pair, label), labelled)


def read_tsv(
    path,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Yields the rows of a tab-separated file, one at a time.

    A line is a record and a tab separates, so a stray quote is a character
    like any other. Only a cell that is quoted from end to end, with inner
    quotes doubled, is unquoted; tabs inside such cells are honoured where
    plain splitting does not give the header's number of cells. Line breaks
    inside cells need CSV.

    Args and errors: as for `read_csv`.
    """
    records = _tsv_records(path)
    yield from _examples(records, path, (text, text_pair, label), labelled)


def _examples(records, path, names, labelled) -> Iterator[TextExample]:
    number, header = next(records, (1, None))
    if header is None:
        raise InputError(
            f"{path}: expected a line with the names of the columns, found "
            "an empty file."
        )
    header = [name.strip() for name in header]
    try:
        columns = choose_columns(header, f"{path}:{number}", *names, labelled)
    except InputError as error:
        raise type(error)(
            f"{error} The first line must name the columns."
        ) from error
    for number, cells in records:
        if len(cells) != len(header):
            if not "".join(cells).strip() and len(cells) == 1:
                continue
            raise InputError(
                f"{path}:{number}: expected {len(header)} cells as in the "
                f"header ({list_names(header)}), found {len(cells)}; a cell "
                "that holds a separator must stand in double quotes."
            )
        if len(header) > 1 and [cell.strip() for cell in cells] == header:
            continue
        row = dict(zip(header, cells, strict=True))
        yield example_from(row, columns, f"{path}:{number}")


def _csv_records(path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    lines = _joined_lines(path)
    first = next(lines, None)
    if first is None:
        return
    delimiter = _delimiter(first)
    reader = csv.reader(
        _chain(first, lines), delimiter=delimiter, strict=True, quotechar='"'
    )
    start, width = 1, None
    try:
        for cells in reader:
            if cells or width == 1:
                width = width or len(cells)
                yield start, cells or [""]
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path}:{start}: the record that starts here is not valid CSV "
            f"({error}); quotes inside a quoted cell must be doubled, and a "
            "quoted cell must be closed."
        ) from error


def _joined_lines(path) -> Iterator[str]:
    for _, line in read_lines(path):
        yield line + "\n"


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _delimiter(header: str) -> str:
    """Comma, unless the header can only be meant otherwise."""
    bare = _QUOTED.sub("", header)
    if "," in bare:
        return ","
    return next((mark for mark in ";\t" if mark in bare), ",")


def _tsv_records(path) -> Iterator[tuple[int, list[str]]]:
    width = None
    for number, line in read_lines(path):
        if width != 1 and not line.strip(" \r\n\ufeff"):
            continue
        cells = line.split("\t")
        if width is None:
            width = len(cells)
        elif len(cells) != width:
            quoted = _split_quoted(line)
            cells = quoted if len(quoted) == width else cells
        yield number, [_unquote(cell) for cell in cells]


def _split_quoted(line: str) -> list[str]:
    cells, position = [], 0
    while position <= len(line):
        cell = _QUOTED_OR_PLAIN.match(line, position)
        cells.append(cell.group())
        position = cell.end() + 1
    return cells


def _unquote(cell: str) -> str:
    if len(cell) > 1 and _QUOTED.fullmatch(cell):
        return cell[1:-1].replace('""', '"')
    return cell
