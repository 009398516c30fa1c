"""What is in the data, counted before anything is trained."""

import collections
import dataclasses
from collections.abc import Iterable

import numpy as np

from pipelines.data.labels import names_in, order_names

# The most labels that are printed; all of them are in the report itself.
_SHOWN = 20


@dataclasses.dataclass(frozen=True)
class TokenCounts:
    """What the tokenizer made of some texts.

    Attributes:
        lengths: int array (texts,): tokens of each text with its special
            tokens, before anything is cut.
        special: how many of these are special tokens.
        read: tokens of all texts that the model reads, special ones aside.
        unknown: how many of those are the unknown token.
        windows: int array (texts,): in how many windows each text is read;
            None where what is too long is cut.
    """

    lengths: np.ndarray
    special: int
    read: int
    unknown: int
    windows: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Part:
    """One split, as the report wants it.

    Attributes:
        labels: of each text a name, a tuple of names or a number.
        hashes: int array (texts,), equal for equal texts.
        tokens: `TokenCounts`.
    """

    labels: Iterable
    hashes: np.ndarray
    tokens: TokenCounts


def data_report(parts: dict[str, Part], max_length: int) -> dict:
    """Counts what is in each split.

    Args:
        parts: the splits by name, training data first.
        max_length: tokens that the model reads at once.

    Returns:
        `max_length` and, by split, `rows`, `labels` (rows by name; of numbers
        `smallest`, `mean` and `largest`), `tokens` (`median`, `p95`,
        `longest`; special ones included), `over_length` (`rows`, `share`
        and the `tokens` beyond), `windows` if there may be some (`rows` that
        have several, and windows in `total`), `unknown_share` of the tokens
        that are read, `empty` (rows without a token), `repeated` (rows whose
        text an earlier row of the split has) and `also_in` (rows whose text
        an earlier split has: what leaks).
    """
    report, seen = {}, {}
    for name, part in parts.items():
        lengths, rows = part.tokens.lengths, len(part.hashes)
        over = lengths[lengths > max_length]
        distinct = np.unique(part.hashes)
        report[name] = {
            "rows": rows,
            "labels": _labels(part.labels),
            "tokens": _lengths(lengths),
            "over_length": {
                "rows": len(over),
                "share": len(over) / max(1, rows),
                "tokens": int((over - max_length).sum()),
            },
            **_windows(part.tokens.windows),
            "unknown_share": part.tokens.unknown / max(1, part.tokens.read),
            "empty": int((lengths <= part.tokens.special).sum()),
            "repeated": rows - len(distinct),
            "also_in": {
                other: int(np.isin(part.hashes, hashes).sum())
                for other, hashes in seen.items()
            },
        }
        seen[name] = distinct
    return {"max_length": max_length, **report}


def report_lines(report: dict) -> list[str]:
    """The report as lines of text, aligned."""
    return ["Data report", *_aligned(report_table(report))]


def report_table(report: dict) -> list[tuple[str, list]]:
    """The report as rows: a title, and a value for each split.

    The first row has the names of the splits.
    """
    parts = {k: v for k, v in report.items() if k != "max_length"}
    return [
        ("", list(parts)),
        ("rows", [p["rows"] for p in parts.values()]),
        *(
            (f"tokens, {title}", [p["tokens"][key] for p in parts.values()])
            for title, key in (
                ("median", "median"),
                ("95 %", "p95"),
                ("longest", "longest"),
            )
        ),
        (
            f"rows over {report['max_length']} tokens",
            [f"{p['over_length']['share']:.1%}" for p in parts.values()],
        ),
        (
            "tokens beyond",
            [p["over_length"]["tokens"] for p in parts.values()],
        ),
        *(
            (title, [p["windows"][key] for p in parts.values()])
            for title, key in (
                ("rows in several windows", "rows"),
                ("windows of all rows", "total"),
            )
            if all("windows" in p for p in parts.values())
        ),
        ("[UNK]", [f"{p['unknown_share']:.2%}" for p in parts.values()]),
        ("rows without a token", [p["empty"] for p in parts.values()]),
        ("rows repeated inside", [p["repeated"] for p in parts.values()]),
        *(
            (
                f"rows also in {other}",
                [p["also_in"].get(other, "") for p in parts.values()],
            )
            for other in list(parts)[:-1]
        ),
        *_label_rows(parts),
    ]


def _labels(labels: Iterable) -> dict:
    counts, numbers = collections.Counter(), []
    for label in labels:
        if isinstance(label, float):
            numbers.append(label)
        counts.update(names_in(label))
    if numbers:
        return {
            "smallest": min(numbers),
            "mean": float(np.mean(numbers)),
            "largest": max(numbers),
        }
    return {name: counts[name] for name in order_names(counts)}


def _lengths(lengths: np.ndarray) -> dict:
    if not len(lengths):
        return {"median": 0, "p95": 0, "longest": 0}
    return {
        "median": float(np.median(lengths)),
        # The nearest rank: a length that a text has.
        "p95": int(np.percentile(lengths, 95, method="inverted_cdf")),
        "longest": int(lengths.max()),
    }


def _windows(windows: np.ndarray | None) -> dict:
    if windows is None:
        return {}
    several = int((windows > 1).sum())
    return {"windows": {"rows": several, "total": int(windows.sum())}}


def _label_rows(parts: dict) -> list[tuple[str, list]]:
    total = collections.Counter()
    for part in parts.values():
        total.update(part["labels"])
    names = list(total)
    if len(names) > _SHOWN:
        names = [name for name, _ in total.most_common(_SHOWN)]
    rows = [
        (
            f"label {name:.40}",
            [part["labels"].get(name, 0) for part in parts.values()],
        )
        for name in names
    ]
    if len(total) > _SHOWN:
        rows.append((f"and {len(total) - _SHOWN} labels more", []))
    return rows


def _aligned(table: list[tuple[str, list]]) -> list[str]:
    cells = [
        (title, [f"{v:g}" if isinstance(v, float) else str(v) for v in values])
        for title, values in table
    ]
    first = max(len(title) for title, _ in cells)
    width = max(len(value) for _, values in cells for value in values)
    lines = []
    for title, values in cells:
        columns = "  ".join(value.rjust(width) for value in values)
        lines.append(f"  {title:{first}}  {columns}".rstrip())
    return lines
