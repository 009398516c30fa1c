"""Built-in tagging data: give BBC News its punctuation and capitals back."""

import itertools
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator

from pipelines.data.examples import TaggedExample

MARKS = ",.?!:;"
CASES = ("lower", "Capital", "UPPER")
# All labels there can be; a text may lack some, as "lower;".
LABELS = tuple(case + mark for case in CASES for mark in ("", *MARKS))

# One article of so many: all would take two cores an hour.
EVERY = 16
# A full stop wins over a comma in "etc.," and a question mark over both.
_PRIORITY = "?!.:;,"
_KEPT_BEFORE = "$£€#@&"
_KEPT_AFTER = "%"
_APOSTROPHE = re.compile("['’]")


def read_punctuation(articles: Iterable | None = None) -> Iterator:
    """Yields paragraphs without marks and capitals; the labels restore them.

    Words are what white space parts. Each is lower-cased and loses the marks,
    quotes, brackets and dashes at its edges; what has no letter or digit is no
    word. Its label is `CASE` + `MARK`: the case is `lower`, `Capital` (the
    first letter is large) or `UPPER` (two letters or more, all large, an
    ending as in `BBC's` aside); the mark is one of `,.?!:;` that followed the
    word, or nothing. `"Hello," said the BBC.` is read as `hello` `Capital,`,
    `said` `lower`, `the` `lower`, `bbc` `UPPER.`.

    Args:
        articles: `TextExample`s to use, each a document; None for every 16th
            of BBC News, with which two cores train in minutes.

    Returns:
        An iterator of `TaggedExample`, one for each paragraph that has a
        word, in the order of the articles.
    """
    if articles is None:
        from pipelines.data.bbc_news import read_bbc_news

        articles = itertools.islice(read_bbc_news(), 0, None, EVERY)
    for document, article in enumerate(articles):
        for number, paragraph in enumerate(article.text.split("\n"), start=1):
            pairs = [p for p in map(strip_word, paragraph.split()) if p]
            if not pairs:
                continue
            words, labels = zip(*pairs, strict=True)
            yield TaggedExample(
                tokens=words,
                tags=labels,
                where=f"{article.where}, paragraph {number}",
                document=document,
            )


def strip_word(written: str) -> tuple[str, str] | None:
    """Splits a written word into its bare form and its label.

    Returns:
        (word, label), or None if the word has neither letter nor digit.
    """
    inside = [i for i, c in enumerate(written) if c.isalnum()]
    if not inside:
        return None
    start, end = inside[0], inside[-1] + 1
    while end < len(written) and unicodedata.combining(written[end]):
        end += 1
    start -= start > 0 and written[start - 1] in _KEPT_BEFORE
    end += written.startswith(_KEPT_AFTER, end)
    core, after = written[start:end], written[end:]
    mark = next((mark for mark in _PRIORITY if mark in after), "")
    return sys.intern(core.lower()), sys.intern(_case(core) + mark)


def restore(words: Iterable[str], labels: Iterable[str]) -> str:
    """Writes words with the capitals and marks that their labels name.

    Capitals inside a word (`McDonald`) have no label and stay small.

    Example:

    >>> restore(["hello", "bbc's", "world"], ["Capital,", "UPPER", "lower."])
    "Hello, BBC's world."
    """
    return " ".join(
        _restore_word(word, label)
        for word, label in zip(words, labels, strict=True)
    )


def _case(core):
    stem = _APOSTROPHE.split(core)[0]
    letters = [c for c in stem if c.isalpha()]
    if len(letters) > 1 and all(c.isupper() for c in letters):
        return "UPPER"
    first = next((c for c in core if c.isalnum()), "")
    return "Capital" if first.isupper() else "lower"


def _restore_word(word, label):
    mark = label[-1] if label[-1:] in MARKS else ""
    case = label.removesuffix(mark)
    if case == "UPPER":
        stem = _APOSTROPHE.split(word)[0]
        word = stem.upper() + word[len(stem) :]
    elif case == "Capital":
        first = next((i for i, c in enumerate(word) if c.isalnum()), 0)
        word = (
            word[:first] + word[first : first + 1].upper() + word[first + 1 :]
        )
    return word + mark
