"""Text, tables and pictures as parts of a page that needs nothing else."""

import html
import io
import re
import warnings
from collections.abc import Iterable, Sequence

from pipelines.plots.style import INK

# Control characters that HTML forbids; tabs and line ends are none of them.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# matplotlib numbers the groups of each picture from 1: the same in all.
_GROUP_ID = re.compile(r'<g id="[^"]*">')
_SIZE = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt"')


class Html(str):
    """Text that is markup already, which `escape` leaves as it is."""


def escape(value) -> Html:
    """A value as text of a page, with no way to become markup.

    Strings are somebody's words: each is isolated, so that what is written
    from right to left does not turn its surroundings.
    """
    if isinstance(value, Html):
        return value
    if not isinstance(value, str):
        return Html(html.escape(number(value)))
    text = value.encode("utf-8", "replace").decode("utf-8")
    text = html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))
    return Html(f"<bdi>{text}</bdi>") if text else Html("")


def number(value) -> str:
    """A number as people read it; a dash where there is none."""
    if value is None or value != value:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        size = abs(value)
        if size and (size < 1e-3 or size >= 1e5):
            return f"{value:.3g}"
        return f"{value:,.4f}" if size < 10 else f"{value:,.2f}"
    return str(value)


def table(
    header: Sequence[str],
    rows: Iterable[Sequence],
    caption: str = "",
    words: Sequence[str] = (),
) -> Html:
    """A table whose first column names the rows.

    Args:
        header: titles of the columns.
        rows: a cell for each column, or fewer.
        caption: what the table shows.
        words: titles of the columns that hold words; numbers stand to the
            right.
    """
    first, *others = header
    kinds = ["" if title in words else ' class="n"' for title in others]
    head = f'<th scope="col">{escape(first)}</th>' + "".join(
        f'<th scope="col"{kind}>{escape(title)}</th>'
        for title, kind in zip(others, kinds, strict=True)
    )
    body = []
    for name, *cells in rows:
        shown = "".join(
            f"<td{kind}>{escape(cell)}</td>"
            for cell, kind in zip(cells, kinds, strict=False)
        )
        body.append(f'<tr><th scope="row">{escape(name)}</th>{shown}</tr>')
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="wide" tabindex="0"><table>{title}<thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def section(title: str, *parts: Html) -> Html:
    """A heading and what stands below it; nothing where there is nothing."""
    parts = [part for part in parts if part]
    if not parts:
        return Html("")
    return Html(
        f"<section><h2>{html.escape(title)}</h2>{''.join(parts)}</section>"
    )


def paragraph(*parts) -> Html:
    """A paragraph of strings, numbers and markup."""
    return Html(f"<p>{' '.join(map(escape, parts))}</p>")


def pictures(*figures: Html) -> Html:
    """Pictures beside each other where there is room."""
    drawn = "".join(filter(None, figures))
    return Html(f'<div class="pictures">{drawn}</div>' if drawn else "")


def picture(figure, description: str) -> Html:
    """A matplotlib figure inside the page.

    Args:
        figure: `matplotlib.figure.Figure`.
        description: what it shows, for those who do not see it.
    """
    label = html.escape(_CONTROL.sub("", description))
    svg = svg_text(figure)
    width = float(_SIZE.search(svg)[1])
    kind = "wide large" if width > 400 else "wide"
    return Html(
        f'<figure class="{kind}" tabindex="0" style="--w:{width:.0f}">'
        + svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
        + "</figure>"
    )


def svg_text(figure) -> str:
    """A figure as one `<svg>` element whose ink is the page's text colour.

    Its text stays text: it can be searched, and has no font of its own.
    """
    import matplotlib

    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    settings = {"svg.fonttype": "none", "svg.hashsalt": "keras_encoder"}
    file = io.StringIO()
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The browser has the letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    text = _GROUP_ID.sub("<g>", text[text.index("<svg") :])
    return text.replace(INK, "currentColor")
