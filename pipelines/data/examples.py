"""What every reader yields, whatever the format it reads."""

import dataclasses
from collections.abc import Iterable, Iterator

# The splits of a data set.
PARTS = ("train", "validation", "test")
# Examples that are held at once: enough to batch by length, few enough for any
# input to stream.
CHUNK = 4096


@dataclasses.dataclass(frozen=True, slots=True)
class TextExample:
    """One text, or a pair of texts, with its label for classification.

    Attributes:
        text: the (first) text, as the user wrote it.
        text_pair: the second text of a pair, or None.
        label: the label's name, a tuple of names (multi-label), a float
            (regression), or None where the data has no label.
        where: `file:line` (or row, or index), for messages.
        id: the user's identifier of the example, or None.
    """

    text: str
    text_pair: str | None = None
    label: str | tuple[str, ...] | float | None = None
    where: str = ""
    id: str | int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TaggedExample:
    """One sentence of words, with one tag a word.

    Attributes:
        tokens: the words, as the user wrote them.
        tags: one tag a word in the user's own scheme, or None where the data
            has no tags.
        where: `file:line` of the first word, for messages.
        document: index of the document that the sentence belongs to. Splits
            and document context never cross it.
        text: the text that the words were cut from, or None.
        offsets: for each word its code-point (start, end) in `text`, end
            exclusive, or None where there is no text.
        id: the user's identifier of the example, or None.
    """

    tokens: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    where: str = ""
    document: int = 0
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    id: str | int | None = None


def in_chunks(
    examples: Iterable[TextExample | TaggedExample], whole_documents: bool
) -> Iterator[list[TextExample | TaggedExample]]:
    """Lists of `CHUNK` examples, or of more so as not to cut a document."""
    chunk = []
    for example in examples:
        goes_on = whole_documents and chunk and _is_next(chunk[-1], example)
        if len(chunk) >= CHUNK and not goes_on:
            yield chunk
            chunk = []
        chunk.append(example)
    if chunk:
        yield chunk


def _is_next(one, other):
    """Whether two neighbours are sentences of one document."""
    document = getattr(one, "document", None)
    return document is not None and (
        document == getattr(other, "document", None)
    )
