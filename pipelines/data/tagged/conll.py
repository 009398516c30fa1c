"""CoNLL column files: a word a line, its tag in a column, blank between."""

import collections
import re
import sys
from collections.abc import Iterator

from pipelines.data.examples import TaggedExample
from pipelines.data.text_files import read_lines
from pipelines.errors import InputError

_MARKER = "-DOCSTART-"
# Not a no-break space: it may be a word of its own in a column.
_EDGES = " \t\r\v\f\ufeff"
_BLANKS = re.compile("[ \t]+")
_COMMENT = re.compile(r"#([ \t]|$)|#(begin|end) document")
_DOCUMENT_COMMENT = re.compile(r"#[ \t]*(newdoc\b|begin document)")
_ID_COMMENT = re.compile(r"#[ \t]*(?:sent_)?id[ \t=]+(\S+)")


def read_conll(
    path, word: int = 0, tag: int | None = -1
) -> Iterator[TaggedExample]:
    """Reads sentences from a CoNLL column file.

    Columns are parted by tabs where a line has one, else by blanks, and all
    lines have the same number of them. A blank line ends a sentence. A line
    that starts with `-DOCSTART-`, whatever its other columns, ends a document
    and is no word; so do the comments `# newdoc` and `#begin document`.

    A line at the start of a sentence that begins with `# ` is a comment,
    unless it has as many columns as the others and a tag that other lines
    have too: then its word is `#`.

    Args:
        path: the file, plain or compressed.
        word: column of the word, from 0; negative counts from the end.
        tag: column of the tag, likewise; None reads words only.

    Raises:
        InputError: on a line with another number of columns, an empty word
            or tag, a column that is not there, or a file without sentences.
    """
    table = _Table(path, word, tag)
    document = 0
    found = False
    in_document = False
    sentence_id = None
    rows = []
    where = ""
    for number, raw in read_lines(path):
        line = raw.strip(_EDGES)
        cells = _cells(line)
        at_start = not rows
        marker = cells[0] == _MARKER
        comment = at_start and table.is_comment(line, cells)
        if line.strip() and not marker and not comment:
            where = where or f"{path}:{number}"
            rows.append(table.row(number, line, cells))
            continue
        if rows:
            yield _example(rows, where, document, sentence_id)
            found = in_document = True
            rows, where, sentence_id = [], "", None
        if comment and (match := _ID_COMMENT.match(line)):
            sentence_id = match[1]
        if marker or (comment and _DOCUMENT_COMMENT.match(line)):
            document += in_document
            in_document = False
    if rows:
        yield _example(rows, where, document, sentence_id)
    elif not found:
        raise InputError(
            f"{path}: expected lines of a word and a tag, found no sentences."
        )


def _example(rows, where, document, sentence_id):
    words, tags = zip(*rows, strict=True)
    return TaggedExample(
        tokens=words,
        tags=None if tags[0] is None else tags,
        where=where,
        document=document,
        id=sentence_id,
    )


def _cells(line: str) -> list[str]:
    if "\t" in line:
        return [cell.strip(_EDGES) for cell in line.split("\t")]
    return [cell.strip("\ufeff") for cell in _BLANKS.split(line)]


class _Table:
    """The columns of one file: how many, and which are wanted."""

    def __init__(self, path, word, tag):
        self._path = path
        self._word = word
        self._tag = tag
        self._width = None
        self._first_line = None
        self._survey = None

    def row(self, number, line, cells) -> tuple[str, str | None]:
        """Returns word and tag of a line, checked."""
        if self._width is None:
            self._check_columns(number, len(cells))
            self._width, self._first_line = len(cells), number
        if len(cells) != self._width:
            raise InputError(
                f"{self._path}:{number}: expected {self._width} columns as in "
                f"line {self._first_line}, found {len(cells)}: {line[:60]!r}; "
                "mend the line, or separate all columns by tabs."
            )
        word = cells[self._word]
        tag = None if self._tag is None else cells[self._tag]
        if not word or tag == "":
            raise InputError(
                f"{self._path}:{number}: expected a word and a tag, found an "
                f"empty {'tag' if word else 'word'}: {line[:60]!r}."
            )
        return sys.intern(word), tag and sys.intern(tag)

    def _check_columns(self, number, width):
        for name, column in (("word", self._word), ("tag", self._tag)):
            if column is not None and not -width <= column < width:
                raise InputError(
                    f"{self._path}:{number}: expected a column {column} for "
                    f"the {name} (the first is 0), found {width} columns."
                )
        if self._tag is not None and (self._word - self._tag) % width == 0:
            raise InputError(
                f"{self._path}:{number}: expected a word and a tag in columns "
                f"of their own, found {width} column(s) with word="
                f"{self._word} and tag={self._tag}."
            )

    def is_comment(self, line, cells) -> bool:
        if not _COMMENT.match(line):
            return False
        if self._survey is None:
            self._survey = _survey(self._path, self._tag)
        width, tags = self._survey
        if len(cells) != width:
            return True
        return self._tag is not None and cells[self._tag] not in tags


def _survey(path, tag) -> tuple[int | None, set[str]]:
    """Returns the usual number of columns of a file, and its tags.

    Only files with a line that may be a comment are read twice for it.
    """
    widths = collections.Counter()
    tags = set()
    at_start = True
    for _, raw in read_lines(path):
        line = raw.strip(_EDGES)
        cells = _cells(line)
        if not line.strip() or cells[0] == _MARKER:
            at_start = True
            continue
        if at_start and _COMMENT.match(line):
            continue
        at_start = False
        widths[len(cells)] += 1
        if tag is not None and -len(cells) <= tag < len(cells):
            tags.add(cells[tag])
    width = widths.most_common(1)[0][0] if widths else None
    return width, tags
