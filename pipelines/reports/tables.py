"""Tables in Markdown, for notebooks and pages."""

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence]) -> str:
    """Text of a table.

    Args:
        header: names of the columns.
        rows: cells; integers get commas at the thousands, other numbers three
            significant digits, and text is shown as it is.

    Returns:
        Lines of Markdown; numbers stand at the right of their column.
    """
    rows = [list(row) for row in rows]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"Expected {len(header)} cells, as the header has, found "
                f"{len(row)}: {row}"
            )
    rule = [
        "---:" if rows and all(_is_number(r[i]) for r in rows) else "---"
        for i in range(len(header))
    ]
    lines = [map(_cell, header), rule, *(map(_cell, row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value) -> str:
    if not _is_number(value):
        text = str(value).replace("\\", "\\\\").replace("|", "\\|")
        return " ".join(text.split())
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}"
