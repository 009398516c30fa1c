"""One source of tagged sentences, whatever its format."""

import dataclasses
import itertools
import os
from collections.abc import Iterator, Mapping

from pipelines.data.examples import TaggedExample
from pipelines.data.hf_disk import is_hf_disk, read_hf_rows
from pipelines.data.jsonl import read_objects
from pipelines.data.layouts import data_suffix
from pipelines.data.python_rows import (
    is_from_python,
    refuse_saved,
    rows_of,
    source_name,
)
from pipelines.data.tagged.conll import read_conll
from pipelines.data.tagged.conllu import read_conllu
from pipelines.data.tagged.jsonl import read_tagged_jsonl
from pipelines.data.tagged.punctuation import read_punctuation
from pipelines.data.tagged.records import examples_from_records
from pipelines.data.tagged.spans import (
    SpanReport,
    examples_from_spans,
    read_spans,
)
from pipelines.data.tagged.tfds import read_tfds_tagged
from pipelines.errors import InputError

PUNCTUATION = "punctuation"
_CONLL = (".conll", ".txt", ".bio", ".iob", ".iob2", ".bioes", ".tsv")
_CONLLU = ".conllu"
_JSONL = (".jsonl", ".ndjson", ".json")
CONLL_SUFFIXES = (*_CONLL, _CONLLU)
TAG_SUFFIXES = (*CONLL_SUFFIXES, *_JSONL)
_TOKEN_FIELDS = ("tokens", "words")
_TAG_FIELDS = ("tags", "ner_tags", "labels", "pos_tags", "upos")
_SPAN_FIELDS = ("spans", "entities", "label")


def read_tagged(
    source,
    word: int | str = 0,
    tag: int | str | None = None,
    data_dir: str | None = None,
    report: SpanReport | None = None,
) -> Iterator[TaggedExample]:
    """Yields the sentences of one source, with tags as they stand there.

    Args:
        source: `punctuation`, `tfds:NAME@SPLIT`, a `save_to_disk` folder, or
            a file: `.conll`, `.txt`, `.bio`, `.iob`, `.tsv` (CoNLL columns),
            `.conllu`, `.jsonl` (`tokens` and `tags`, or `text` and `spans`);
            also `.gz`, `.bz2` and `.zip` of them. From Python a DataFrame, a
            `datasets.Dataset` or an iterable of records like those of JSON
            lines, of (words, tags) pairs or of `TaggedExample`s.
        word, tag, data_dir: as for `load_tagged_splits`.
        report: counts changed spans.
    """
    field = None if _is_number(word) else str(word)
    if is_from_python(source):
        return _read_python(source, field, tag, report)
    refuse_saved(source)
    source = str(source)
    if source == PUNCTUATION:
        return read_punctuation()
    if source.startswith("tfds:"):
        return read_tfds_tagged(source, field, tag, data_dir)
    if os.path.isdir(source):
        return _read_hf(source, field, tag)
    if not os.path.exists(source):
        raise InputError(
            f"{source}: no such file or folder; expected "
            f"{PUNCTUATION}, tfds:NAME, a folder or a file "
            f"({', '.join(TAG_SUFFIXES)})."
        )
    suffix = data_suffix(source)
    if suffix == _CONLLU:
        return read_conllu(source, "upos" if tag is None else str(tag))
    if suffix in _CONLL:
        return read_conll(
            source,
            _column("word", word),
            _column("tag", -1 if tag is None else tag),
        )
    if suffix in _JSONL:
        return _read_jsonl(source, field, tag, report)
    raise InputError(
        f"{source}: unknown format {suffix or '(no suffix)'} for tagging; "
        f"expected one of {', '.join(TAG_SUFFIXES)}."
    )


def looks_tagged(record: Mapping) -> bool:
    """Whether a record has tags of words, or spans of its text."""
    if _first(None, _TOKEN_FIELDS, record):
        return True
    spans = _first(None, _SPAN_FIELDS, record)
    listed = record[spans] if spans else None
    return isinstance(listed, list) and (
        not listed or isinstance(listed[0], list | dict)
    )


def _is_number(value):
    return isinstance(value, int) or value.removeprefix("-").isdecimal()


def _column(name, value):
    if not _is_number(value):
        raise InputError(
            f"--{name}: expected the number of a column for CoNLL columns "
            f"(0 is the first, -1 the last), found {value!r}."
        )
    try:
        return int(value)
    except ValueError as error:
        raise InputError(f"--{name}: {error}.") from error


def _first(wanted, usual, found):
    usual = usual if wanted is None else (wanted,)
    return next((name for name in usual if name in found), None)


def _read_jsonl(source, word, tag, report):
    _, record = next(read_objects(source), (0, None))
    if record is None:
        raise InputError(f"{source}: expected JSON lines, found no sentences.")
    tokens = _first(word, _TOKEN_FIELDS, record)
    tags = _first(tag, _TAG_FIELDS, record)
    if tokens and tags and not isinstance(record[tokens], str):
        return read_tagged_jsonl(source, tokens, tags)
    text = _first(word, ("text",), record)
    spans = _first(tag, _SPAN_FIELDS, record)
    if text and spans:
        return read_spans(source, report, text, spans)
    raise _no_fields(source, word, tag, record)


def _read_python(source, word, tag, report):
    rows = rows_of(source, ("tokens", "tags"), TaggedExample)
    first = next(rows, None)
    place = source_name(source)
    if first is None:
        raise InputError(f"{place}: expected sentences, found none.")
    rows = itertools.chain([first], rows)
    if isinstance(first[1], TaggedExample):
        return _numbered(example for _, example in rows)
    tokens = _first(word, _TOKEN_FIELDS, first[1])
    tags = _first(tag, _TAG_FIELDS, first[1])
    if tokens and tags:
        return examples_from_records(rows, tokens, tags)
    text = _first(word, ("text",), first[1])
    spans = _first(tag, _SPAN_FIELDS, first[1])
    if text and spans:
        return examples_from_spans(rows, report, text, spans)
    raise _no_fields(place, word, tag, first[1])


def _numbered(examples):
    """Examples that were made without documents are one each."""
    examples = list(examples)
    if len({e.document for e in examples}) > 1:
        return iter(examples)
    return (dataclasses.replace(e, document=i) for i, e in enumerate(examples))


def _read_hf(source, word, tag):
    if not is_hf_disk(source):
        raise InputError(
            f"{source}: expected a folder that save_to_disk wrote; found "
            "another."
        )
    rows = read_hf_rows(source)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{source}: expected sentences, found none.")
    tokens = _first(word, _TOKEN_FIELDS, first[1])
    tags = _first(tag, _TAG_FIELDS, first[1])
    if not tokens or not tags:
        raise _no_fields(source, word, tag, first[1])
    return examples_from_records(itertools.chain([first], rows), tokens, tags)


def _no_fields(source, word, tag, record):
    return InputError(
        f"{source}: expected the fields {word or 'tokens'!r} and "
        f"{tag or 'tags'!r}, or 'text' and 'spans', found "
        f"{sorted(record)[:12]}; choose them with --word and --tag."
    )
