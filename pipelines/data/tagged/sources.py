"""`--data` or `--train/--validation/--test` to tagged examples by split."""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pipelines.data.class_folders import visible_entries
from pipelines.data.examples import PARTS, TaggedExample
from pipelines.data.hf_disk import hf_splits, is_hf_disk
from pipelines.data.layouts import by_split, data_suffix, split_of
from pipelines.data.python_rows import is_from_python, source_name
from pipelines.data.tagged.reading import PUNCTUATION, TAG_SUFFIXES, read_tagged
from pipelines.data.tagged.spans import SpanReport
from pipelines.data.tagged.splits import split_documents, splits_by_document
from pipelines.data.tagged.stored import StoredSentences
from pipelines.data.tfds import tfds_splits
from pipelines.errors import InputError

_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class TaggedSplits:
    """Tagged sentences for training, validation and test.

    Attributes:
        train, validation, test: sentences with their tags as written. `test`
            is empty where only training and validation data were given.
        notes: lines that tell how the data were split and what was changed.
    """

    train: StoredSentences
    validation: StoredSentences
    test: StoredSentences
    notes: list[str]


def load_tagged_splits(
    data: str | None = None,
    train: str | None = None,
    validation: str | None = None,
    test: str | None = None,
    *,
    word: int | str = 0,
    tag: int | str | None = None,
    seed: int = 42,
    data_dir: str | None = None,
) -> TaggedSplits:
    """Reads all splits and makes those that are missing.

    One undivided data set is split 80/10/10 by document; where training data
    come without validation data, 10 % of the training data become them.

    Args:
        data: what holds all splits; `punctuation` where nothing is given.
            From Python what `read_tagged` takes, or a mapping of such by
            split.
        train, validation, test: one source a split, instead of `data`.
        word: the column of the words: a number for CoNLL columns, else the
            name of a field.
        tag: the column of the tags, likewise; for CoNLL-U `upos`, `xpos` or
            `misc:KEY`. None for the usual one of the format.
        seed: seed of the splits.
        data_dir: folder of prepared TensorFlow Datasets.
    """
    given = {"train": train, "validation": validation, "test": test}
    given = {n: source for n, source in given.items() if source is not None}
    if data is not None and given:
        raise InputError(
            f"--data and --{next(iter(given))} were both given; give either "
            "--data, or --train with --validation and --test."
        )
    notes = []
    if given:
        sources = {name: [source] for name, source in given.items()}
    else:
        data = PUNCTUATION if data is None else data
        sources = _parts_of(data, data_dir, notes)
    if "train" not in sources:
        raise InputError(
            f"{'--train' if given else source_name(data)}: expected training "
            f"data, found only {' and '.join(sources) or 'other'} data."
        )
    report = SpanReport()
    read = functools.partial(
        read_tagged, word=word, tag=tag, data_dir=data_dir, report=report
    )
    splits = {name: StoredSentences() for name in PARTS}
    for name in [split for split in PARTS if split in sources]:
        splits[name] = StoredSentences(_read_all(sources[name], read))
    if report != SpanReport():
        notes.append(str(report))
    _split_off(
        splits,
        undivided=not given and len(sources) == 1,
        seed=seed,
        notes=notes,
    )
    notes += [_counts(name, splits[name]) for name in splits if splits[name]]
    return TaggedSplits(**splits, notes=notes)


def _parts_of(data, data_dir, notes) -> dict[str, list]:
    if isinstance(data, Mapping):
        parts, unused = by_split({str(n): part for n, part in data.items()})
        notes += [f"not used: {name}" for name in unused]
        return parts
    if is_from_python(data):
        return {"train": [data]}
    data = str(data)
    if data.startswith("tfds:") and "@" not in data:
        named = {s: f"{data}@{s}" for s in tfds_splits(data, data_dir)}
    elif os.path.isdir(data):
        named = hf_splits(data) or _files(data)
    else:
        return {"train": [data]}
    if len(named) == 1:
        return {"train": list(named.values())}
    parts, unused = by_split(named)
    notes += [f"not used: {data}, {name}" for name in unused]
    return parts


def _files(folder) -> dict[str, pathlib.Path]:
    folder = pathlib.Path(folder)
    if is_hf_disk(folder):
        return {folder.name: folder}
    files = {
        entry.name: entry
        for entry in visible_entries(folder)
        if entry.is_file() and data_suffix(entry) in TAG_SUFFIXES
    }
    if len(files) > 1 and not any(split_of(name) for name in files):
        raise InputError(
            f"{folder}: cannot tell which of {', '.join(files)} are for "
            "training; name one file, or call them train, validation and test."
        )
    if not files:
        raise InputError(
            f"{folder}: expected files of {', '.join(TAG_SUFFIXES)}, found "
            "none."
        )
    # A README.txt beside the data is no data.
    named = {name: file for name, file in files.items() if split_of(name)}
    return named or files


def _read_all(sources: Sequence, read) -> Iterator[TaggedExample]:
    """Reads sources one after the other; documents are numbered on."""
    first = 0
    for source in sources:
        following = first
        for example in read(source):
            if first:
                example = dataclasses.replace(
                    example, document=first + example.document
                )
            following = example.document + 1
            yield example
        first = following


def _split_off(splits, undivided, seed, notes):
    train = splits["train"]
    if undivided:
        missing = ("validation", "test")
    elif not splits["validation"]:
        missing = ("validation",)
    else:
        return
    unit = "document" if splits_by_document(train) else "sentence"
    splits["train"], *parts = split_documents(
        train, [_SHARE] * len(missing), seed
    )
    splits.update(zip(missing, parts, strict=True))
    notes.append(
        f"{' and '.join(missing)}: {_SHARE:.0%} of the data each, split by "
        f"{unit} with seed {seed}"
    )


def _counts(name, examples):
    words = sum(len(example.tokens) for example in examples)
    documents = len(np.unique(examples.documents))
    return (
        f"{name}: {len(examples)} sentences, {words} words, {documents} "
        "documents"
    )
