"""Examples from records that hold a list of words and a list of tags."""

import sys
from collections.abc import Iterable, Iterator, Mapping

from pipelines.data.examples import TaggedExample
from pipelines.data.tagged.words import locate_words
from pipelines.errors import InputError


def examples_from_records(
    records: Iterable[tuple[str, Mapping]],
    tokens: str = "tokens",
    tags: str | None = "tags",
    document: str = "document",
) -> Iterator[TaggedExample]:
    """Turns `(where, record)` pairs into examples.

    A record may also have `text`, the text that the words come from, and
    `id`. Neighbouring records with the same value of `document` are one
    document; a record without it is a document of its own.

    Args:
        records: pairs of a place, for messages, and a mapping.
        tokens: field of the words, a list of strings.
        tags: field of the tags, likewise; None reads words only.
        document: field that names the document.

    Raises:
        InputError: naming the place of a record that is not as above.
    """
    index = -1
    last = None
    for where, record in records:
        words = _strings(record, tokens, where)
        labels = None if tags is None else _strings(record, tags, where)
        if labels is not None:
            _check_tags(words, labels, where, tokens, tags)
        name = record.get(document)
        if name is None or name != last:
            index += 1
        last = name
        text, offsets = _text_and_offsets(record, words)
        yield TaggedExample(
            tokens=words,
            tags=labels,
            where=where,
            document=index,
            text=text,
            offsets=offsets,
            id=record_id(record),
        )


def field(record: Mapping, name: str, where: str):
    """Returns a field that must be there."""
    if name not in record:
        raise InputError(
            f"{where}: expected the field {name!r}, found "
            f"{sorted(record)[:12]}."
        )
    return record[name]


def checked_text(value, name: str, where: str) -> str:
    """Returns `value` if it is a string."""
    if not isinstance(value, str):
        raise InputError(
            f"{where}: expected a string in {name!r}, found {value!r:.60}."
        )
    return value


def record_id(record: Mapping) -> str | int | None:
    """Returns the identifier of a record, if it has a usable one."""
    value = record.get("id")
    return value if isinstance(value, str | int) else None


def _strings(record, name, where) -> tuple[str, ...]:
    values = field(record, name, where)
    if not isinstance(values, list | tuple):
        raise InputError(
            f"{where}: expected a list of strings in {name!r}, found "
            f"{values!r:.60}."
        )
    return tuple(
        sys.intern(str(checked_text(value, f"{name}[{i}]", where)))
        for i, value in enumerate(values)
    )


def _check_tags(words, labels, where, tokens, tags):
    if len(words) != len(labels):
        raise InputError(
            f"{where}: expected one tag a word, found {len(words)} {tokens!r} "
            f"and {len(labels)} {tags!r}."
        )
    if "" in labels:
        raise InputError(
            f"{where}: expected a tag for every word, found an empty string "
            f"at position {labels.index('')} of {tags!r}."
        )


def _text_and_offsets(record, words):
    text = record.get("text")
    offsets = locate_words(text, words) if isinstance(text, str) else None
    return (None, None) if offsets is None else (text, offsets)
