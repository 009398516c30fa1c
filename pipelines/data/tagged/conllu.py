"""CoNLL-U files (Universal Dependencies)."""

import re
import sys
from collections.abc import Iterator

from pipelines.data.examples import TaggedExample
from pipelines.data.tagged.words import locate_words
from pipelines.data.text_files import read_lines
from pipelines.errors import InputError

_COLUMNS = {"upos": 3, "xpos": 4}
_MISC = 9
_WIDTH = 10
_WORD_ID = re.compile("[0-9]{1,9}")
_RANGE_ID = re.compile("([0-9]{1,9})-([0-9]{1,9})")
_EMPTY_NODE_ID = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
_COMMENT_VALUE = re.compile(r"#\s*(text|sent_id)\s*=\s?(.*)", re.DOTALL)
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")
_NO_VALUE = "_"


def read_conllu(path, tag: str | None = "upos") -> Iterator[TaggedExample]:
    """Reads sentences from a CoNLL-U file.

    The words are the syntactic words: the line of a multi-word token
    (`1-2`) and empty nodes (`8.1`) carry no tag and are passed over. Where
    a `# text` comment is there and the words are found in it, they have
    offsets; words of a multi-word token that are not spelled out in it
    (`du` = `de` + `le`) all get the offsets of that token. `# newdoc`
    begins a document.

    Args:
        path: the file, plain or compressed.
        tag: `"upos"`, `"xpos"`, or `"misc:KEY"` for a key of the last column,
            where a word without the key has the tag `O`; None reads words
            only.

    Raises:
        InputError: on a line that is not CoNLL-U, a tag that no word has, or
            a file without sentences.
    """
    tag_of = _tag_reader(tag)
    sentence = _Sentence(path)
    document = 0
    found = in_document = tagged = False
    for number, line in _lines_and_end(path):
        if line.startswith("#") and not sentence.words:
            if _NEW_DOCUMENT.match(line):
                document += in_document
                in_document = False
            sentence.comment(line)
        elif line.strip():
            sentence.add(number, line)
        elif sentence.words:
            example = sentence.example(tag_of, document)
            tagged = tagged or any(
                t not in (_NO_VALUE, "O") for t in example.tags or ()
            )
            yield example
            found = in_document = True
            sentence = _Sentence(path)
        else:
            sentence.close()
            sentence = _Sentence(path)
    if not found:
        raise InputError(f"{path}: expected CoNLL-U, found no sentences.")
    if tag is not None and not tagged:
        raise InputError(
            f"{path}: expected tags in {tag!r}, found no word that has one; "
            "choose upos, xpos or misc:KEY."
        )


def _lines_and_end(path):
    number = 0
    for number, line in read_lines(path):
        yield number, line.strip("\ufeff\r")
    yield number + 1, ""


def _tag_reader(tag):
    if tag is None:
        return None
    if tag in _COLUMNS:
        column = _COLUMNS[tag]
        return lambda cells: cells[column]
    key = tag.removeprefix("misc:")
    if key == tag or not key:
        raise InputError(
            f"tag: expected upos, xpos or misc:KEY for CoNLL-U, found {tag!r}."
        )

    def from_misc(cells):
        for pair in cells[_MISC].split("|"):
            name, _, value = pair.partition("=")
            if name.strip() == key and value:
                return value
        return "O"

    return from_misc


class _Sentence:
    """The lines of one sentence, gathered."""

    def __init__(self, path):
        self._path = path
        self._first = None
        self._text = None
        self._id = None
        self.words = []
        # (form, number of words) of each stretch of the text.
        self._surfaces = []
        self._range_end = 0

    def comment(self, line):
        if match := _COMMENT_VALUE.match(line):
            if match[1] == "text":
                self._text = match[2]
            else:
                self._id = match[2].strip()

    def add(self, number, line):
        cells = [cell.strip() for cell in line.split("\t")]
        where = f"{self._path}:{number}"
        self._first = self._first or number
        if len(cells) != _WIDTH:
            raise InputError(
                f"{where}: expected {_WIDTH} columns parted by tabs, found "
                f"{len(cells)}: {line[:60]!r}."
            )
        if _EMPTY_NODE_ID.fullmatch(cells[0]):
            return
        if match := _RANGE_ID.fullmatch(cells[0]):
            self._open_range(where, int(match[1]), int(match[2]), cells[1])
            return
        expected = len(self.words) + 1
        if not _WORD_ID.fullmatch(cells[0]) or int(cells[0]) != expected:
            raise InputError(
                f"{where}: expected the word number {expected}, found "
                f"{cells[0][:20]!r}; a blank line parts sentences."
            )
        if not cells[1]:
            raise InputError(f"{where}: expected a word, found none.")
        if expected > self._range_end:
            self._surfaces.append((cells[1], 1))
        self.words.append(cells)

    def _open_range(self, where, start, end, form):
        if start != len(self.words) + 1 or end < start or not form:
            raise InputError(
                f"{where}: expected a multi-word token that begins at word "
                f"{len(self.words) + 1}, found {start}-{end}."
            )
        self._range_end = end
        self._surfaces.append((form, end - start + 1))

    def close(self):
        """Checks that what was begun is complete."""
        if self._range_end > len(self.words):
            raise InputError(
                f"{self._path}:{self._first}: expected a sentence with word "
                f"{self._range_end} of its multi-word token, found "
                f"{len(self.words)} words."
            )

    def example(self, tag_of, document) -> TaggedExample:
        self.close()
        offsets = self._offsets()
        tags = None
        if tag_of is not None:
            tags = tuple(sys.intern(tag_of(cells)) for cells in self.words)
            self._check(tags)
        return TaggedExample(
            tokens=tuple(sys.intern(cells[1]) for cells in self.words),
            tags=tags,
            where=f"{self._path}:{self._first}",
            document=document,
            text=None if offsets is None else self._text,
            offsets=offsets,
            id=self._id,
        )

    def _check(self, tags):
        if "" in tags:
            raise InputError(
                f"{self._path}:{self._first}: expected a tag for every word, "
                f"found an empty column for word {tags.index('') + 1}."
            )

    def _offsets(self):
        if self._text is None:
            return None
        surfaces = locate_words(
            self._text, [form for form, _ in self._surfaces]
        )
        if surfaces is None:
            return None
        offsets = []
        for (form, count), (start, end) in zip(
            self._surfaces, surfaces, strict=True
        ):
            first = len(offsets)
            words = [c[1] for c in self.words[first : first + count]]
            inside = locate_words(form, words)
            if inside is None:
                offsets += [(start, end)] * count
            else:
                offsets += [(start + a, start + b) for a, b in inside]
        return tuple(offsets)
