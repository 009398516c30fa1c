"""JSON lines with a `text` and labelled character `spans`."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from pipelines.data.examples import TaggedExample
from pipelines.data.jsonl import read_objects
from pipelines.data.tagged.records import checked_text, field, record_id
from pipelines.data.tagged.words import cut_words
from pipelines.errors import InputError


@dataclasses.dataclass
class SpanReport:
    """Counts what `read_spans` had to change; it is filled while reading.

    Attributes:
        spans: spans that became tags.
        trimmed: spans that had blanks at an edge.
        snapped: spans that began or ended inside a word and were widened.
        dropped: spans whose only words another span had taken by then.
    """

    spans: int = 0
    trimmed: int = 0
    snapped: int = 0
    dropped: int = 0

    def __str__(self):
        return (
            f"{self.spans} spans: {self.trimmed} trimmed of blanks, "
            f"{self.snapped} widened to whole words, {self.dropped} dropped "
            "because they share a word with another span"
        )


def read_spans(
    path,
    report: SpanReport | None = None,
    text: str = "text",
    spans: str = "spans",
) -> Iterator[TaggedExample]:
    """Reads one text a line and turns its spans into IOB2 tags of its words.

    A span is `[start, end, label]` or an object with `start`, `end`, `label`
    and perhaps `text`, the surface to check it against. Offsets count code
    points (as Python does, not UTF-16 units) and `end` is exclusive. Words
    are those of `cut_words`. A span loses blanks at its edges and grows to
    the borders of the words that it touches; both are counted. Every record
    is a document.

    Args:
        path: the file, plain or compressed.
        report: counts the changes, to be printed after reading.
        text: field of the text.
        spans: field of the spans.

    Raises:
        InputError: naming file and line, if a span is reversed, empty, out of
            range, overlaps another or is not what its own `text` says.
    """
    records = ((f"{path}:{n}", record) for n, record in read_objects(path))
    example = None
    for example in examples_from_spans(records, report, text, spans):
        yield example
    if example is None:
        raise InputError(
            f"{path}: expected JSON lines with {text!r} and {spans!r}, found "
            "no sentences."
        )


def examples_from_spans(
    records: Iterable[tuple[str, Mapping]],
    report: SpanReport | None = None,
    text: str = "text",
    spans: str = "spans",
) -> Iterator[TaggedExample]:
    """Does what `read_spans` does with `(where, record)` pairs."""
    report = SpanReport() if report is None else report
    for index, (where, record) in enumerate(records):
        value = checked_text(field(record, text, where), text, where)
        listed = field(record, spans, where)
        if not isinstance(listed, list):
            raise InputError(
                f"{where}: expected a list in {spans!r}, found {listed!r:.60}."
            )
        checked = sorted(_span(span, value, where) for span in listed)
        _check_overlap(checked, where)
        offsets = cut_words(value)
        yield TaggedExample(
            tokens=tuple(value[start:end] for start, end in offsets),
            tags=_tags(value, offsets, checked, where, report),
            where=where,
            document=index,
            text=value,
            offsets=tuple(offsets),
            id=record_id(record),
        )


def _span(span, text, where) -> tuple[int, int, str]:
    surface = None
    if isinstance(span, dict):
        surface = span.get("text")
        span = [span.get("start"), span.get("end"), span.get("label")]
    if (
        not isinstance(span, list | tuple)
        or len(span) != 3
        or not all(type(edge) is int for edge in span[:2])
        or not isinstance(span[2], str)
        or not span[2].strip()
    ):
        raise InputError(
            f"{where}: expected a span [start, end, label] of two whole "
            f"numbers and a name, found {span!r:.80}."
        )
    start, end, label = span
    shown = f"[{start}, {end}, {label!r}]"
    if start >= end:
        kind = "an empty" if start == end else "a reversed"
        raise InputError(
            f"{where}: expected a span with start < end, found {kind} one: "
            f"{shown}."
        )
    if start < 0 or end > len(text):
        raise InputError(
            f"{where}: expected a span inside the text of {len(text)} "
            f"characters, found {shown}{_utf16_hint(text, end)}."
        )
    if isinstance(surface, str) and surface.strip() != text[start:end].strip():
        raise InputError(
            f"{where}: expected {surface!r:.60} at {shown}, found "
            f"{text[start:end]!r:.60}{_utf16_hint(text, end)}."
        )
    return start, end, label.strip()


def _utf16_hint(text, end):
    units = len(text.encode("utf-16-le")) // 2
    if units == len(text) or end > units:
        return ""
    return (
        "; the text has characters outside the basic plane (emoji): were "
        "UTF-16 units counted? Count code points"
    )


def _check_overlap(spans, where):
    for left, right in zip(spans, spans[1:], strict=False):
        if right[0] < left[1]:
            raise InputError(
                f"{where}: expected spans that do not overlap, found "
                f"{list(left)} and {list(right)}."
            )


def _tags(text, offsets, spans, where, report):
    tags = ["O"] * len(offsets)
    word = 0
    for start, end, label in spans:
        trimmed_start = end - len(text[start:end].lstrip())
        trimmed_end = start + len(text[start:end].rstrip())
        while word < len(offsets) and offsets[word][1] <= start:
            word += 1
        last = word
        while last < len(offsets) and offsets[last][0] < end:
            last += 1
        if last == word or trimmed_start >= trimmed_end:
            raise InputError(
                f"{where}: expected a span over a word, found only blanks at "
                f"{[start, end, label]}."
            )
        report.trimmed += (trimmed_start, trimmed_end) != (start, end)
        report.snapped += (
            offsets[word][0] < trimmed_start
            or offsets[last - 1][1] > trimmed_end
        )
        first = word
        while first < last and tags[first] != "O":
            first += 1
        if first == last:
            report.dropped += 1
            continue
        report.spans += 1
        tags[first] = f"B-{label}"
        tags[first + 1 : last] = [f"I-{label}"] * (last - first - 1)
    return tuple(tags)
