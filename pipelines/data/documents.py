"""Texts without labels as documents: lists of lines, for pretraining."""

import itertools
import os
import pathlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pipelines.data.class_folders import visible_entries
from pipelines.data.layouts import data_suffix
from pipelines.data.python_rows import is_from_python, source_name
from pipelines.data.readers import read_examples
from pipelines.data.scratch import ScratchRecords
from pipelines.data.sources import find_parts
from pipelines.data.text_files import read_lines
from pipelines.errors import InputError

Document = list[str]
_SHARE = 0.1


class StoredDocuments(Sequence):
    """Documents in a temporary file, read back one at a time.

    Args:
        documents: any iterable; it is read once.
    """

    def __init__(self, documents: Iterable[Document] = ()):
        self._records = ScratchRecords()
        for document in documents:
            self._records.append(tuple(document))

    def take(self, rows: np.ndarray) -> "StoredDocuments":
        """Some of the documents, in the same file."""
        part = object.__new__(StoredDocuments)
        part._records = self._records.take(rows)
        return part

    def __len__(self):
        return len(self._records)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        return list(self._records[index])

    def __eq__(self, other):
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)


class Lines:
    """The lines of all documents, as often as they are asked for."""

    def __init__(self, documents: Sequence[Document]):
        self._documents = documents

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self._documents)


def load_documents(
    data: str | None,
    validation: str | None = None,
    text: str | None = None,
    seed: int = 42,
) -> tuple[StoredDocuments, StoredDocuments, list[str]]:
    """Reads training and held-out documents, no document twice.

    Args:
        data: as in `read_documents`, or a folder with splits; BBC News where
            it is None.
        validation: held-out documents; None takes the data's own validation
            split, else every tenth document at random.
        text: name of the text column.
        seed: of that draw.

    Returns:
        Training documents, held-out documents, and lines that tell what was
        split off or left out.

    Raises:
        InputError: if there is too little text, or anything wrong with it.
    """
    data = "bbc_news" if data is None else data
    parts, note = {"train": [data]}, []
    if not _is_text(data):
        parts, note = find_parts(data)
    if validation is not None:
        parts["validation"] = [validation]
    seen, twice = set(), 0

    def first_times(sources):
        nonlocal twice
        for source in sources:
            for document in read_documents(source, text):
                key = hash(tuple(document))
                if key in seen:
                    twice += 1
                    continue
                seen.add(key)
                yield document

    train, held_out = (
        StoredDocuments(first_times(parts.get(name, ())))
        for name in ("train", "validation")
    )
    if twice:
        note.append(f"{twice} documents that stand twice left out")
    if not held_out and validation is not None:
        raise InputError(
            f"{source_name(validation)}: expected held-out documents, found "
            "none that the training texts do not have; give others, or leave "
            "--validation out."
        )
    if not held_out:
        count = len(train)
        train, held_out = _split(train, data, seed, note)
        what = (
            f"the last {len(held_out[0])} lines"
            if count == 1
            else f"{len(held_out)} of these documents"
        )
        note.append(f"held out: {what}")
    return train, held_out, note


def read_documents(path, text: str | None = None) -> Iterator[Document]:
    """Yields documents of one line or more, none of them blank.

    A text file has one line a sentence (or paragraph) and a blank line
    between documents. Of anything else that `read_examples` knows each text
    is a document, and its lines are the document's.

    Args:
        path: a `.txt` file (perhaps compressed), a folder of such, or what
            `read_examples` takes, a Python object too.
        text: name of the text column.
    """
    if _is_text(path):
        for file in _text_files(path):
            yield from _blocks(line for _, line in read_lines(file))
        return
    for example in read_examples(path, text=text, labelled=False):
        texts = (example.text, example.text_pair or "")
        lines = itertools.chain.from_iterable(t.split("\n") for t in texts)
        document = [line.strip() for line in lines if line.strip()]
        if document:
            yield document


def _is_text(path):
    if is_from_python(path):
        return False
    return data_suffix(path) == ".txt" or (
        os.path.isdir(path) and bool(_text_files(path))
    )


def _text_files(path):
    path = pathlib.Path(path)
    if not path.is_dir():
        return [path]
    return [
        entry
        for entry in visible_entries(path)
        if entry.is_file() and data_suffix(entry) == ".txt"
    ]


def _blocks(lines):
    document = []
    for line in lines:
        if line.strip():
            document.append(line.strip())
        elif document:
            yield document
            document = []
    if document:
        yield document


def _split(documents, data, seed, note):
    """Every tenth document; of a single one, its last lines."""
    if len(documents) == 1 and len(documents[0]) > 1:
        (lines,) = documents
        cut = len(lines) - max(1, round(_SHARE * len(lines)))
        return StoredDocuments([lines[:cut]]), StoredDocuments([lines[cut:]])
    if len(documents) < 2:
        raise InputError(
            f"{source_name(data)}: expected two documents or lines or more, "
            f"one of them to be held out; found {len(documents)}"
            + "".join(f" ({line})" for line in note)
            + "."
        )
    order = np.random.default_rng(seed).permutation(len(documents))
    count = max(1, round(_SHARE * len(documents)))
    held_out = np.zeros(len(documents), bool)
    held_out[order[:count]] = True
    return (
        documents.take(np.flatnonzero(~held_out)),
        documents.take(np.flatnonzero(held_out)),
    )
