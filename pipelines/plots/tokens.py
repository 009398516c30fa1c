"""Pictures of texts, token by token, for notebooks."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from pipelines.plots.style import BLUE, GREY, INK, ORANGE, SIX

# Widths of a line of tokens and of one of its letters, and the height of a
# line, in points.
_LINE, _LETTER, _ROW = 640, 5.5, 19


def attention_maps(
    scores: Mapping[str, np.ndarray], tokens: Sequence[str], columns: int = 3
):
    """Who looks at whom: a square of queries (rows) and keys a map.

    Args:
        scores: title -> (seq, seq) probabilities.
        tokens: what stands at each position.
        columns: maps in a row.

    Returns:
        `matplotlib.figure.Figure`; the darkest colour is a probability of 1.
    """
    from matplotlib.figure import Figure

    rows = -(-len(scores) // columns)
    side = 0.16 * len(tokens) + 0.5
    figure = Figure(
        figsize=(side * columns + 0.5, (side + 0.25) * rows + 0.4),
        layout="constrained",
    )
    places = figure.subplots(rows, columns, squeeze=False)
    for axes in places.flat[len(scores) :]:
        axes.set_visible(False)
    at = range(len(tokens))
    for number, (title, matrix) in enumerate(scores.items()):
        axes = places.flat[number]
        axes.imshow(
            matrix, cmap="Blues", vmin=0, vmax=1, interpolation="nearest"
        )
        axes.set_title(title, color=INK, fontsize=9)
        # Names once a row and once a column of maps.
        is_left = number % columns == 0
        is_low = number + columns >= len(scores)
        blank = [""] * len(tokens)
        axes.set_yticks(at, tokens if is_left else blank, parse_math=False)
        axes.set_xticks(
            at, tokens if is_low else blank, rotation=90, parse_math=False
        )
        axes.tick_params(labelsize=7.5, length=0, colors=INK)
        for spine in axes.spines.values():
            spine.set_color("#c5ccd4")
    return figure


def token_strip(
    tokens: Sequence[str], values: Sequence[float], title: str = ""
):
    """A text whose tokens have a colour by number.

    Args:
        tokens: in the order of the text.
        values: a number a token: orange above 0, blue below it, as strong as
            its share of the largest.
        title: of the picture.

    Returns:
        `matplotlib.figure.Figure`.
    """
    most = max(map(abs, values), default=0) or 1.0
    boxes = [
        (ORANGE if value > 0 else BLUE, 0.85 * abs(value) / most)
        for value in values
    ]
    return _strip(tokens, boxes, title)


def marked_tokens(
    tokens: Sequence[str], kinds: Sequence[str | None], title: str = ""
):
    """A text whose tokens have a colour by kind, and a legend.

    Args:
        tokens: in the order of the text.
        kinds: a name a token, or None for no colour.
        title: of the picture.

    Returns:
        `matplotlib.figure.Figure`.
    """
    names = list(dict.fromkeys(kind for kind in kinds if kind is not None))
    colour = dict(zip(names, itertools.cycle(SIX), strict=False))
    boxes = [
        (colour.get(kind, GREY), 0.45 * (kind in colour)) for kind in kinds
    ]
    return _strip(tokens, boxes, title, colour)


def _strip(tokens, boxes, title, legend=None):
    """Tokens on coloured boxes, as many to a line as it holds."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch, Rectangle

    places, x, row = [], 0.0, 0
    for token in tokens:
        width = _LETTER * len(token) + 4
        if x + width > _LINE:
            x, row = 0.0, row + 1
        places.append((x, row, width))
        x += width + 3
    above = 16 * bool(title) + 18 * bool(legend)
    height = _ROW * (row + 1) + above
    figure = Figure(figsize=(_LINE / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-4, _LINE + 4)
    axes.set_ylim(height, 0)
    text = dict(family="monospace", fontsize=9, color=INK, va="center")
    for token, (colour, alpha), (x, row, width) in zip(
        tokens, boxes, places, strict=True
    ):
        top = above + _ROW * row
        axes.add_patch(
            Rectangle((x, top + 1), width, _ROW - 3, fc=colour, alpha=alpha)
        )
        axes.text(x + 2, top + _ROW / 2, token, parse_math=False, **text)
    if title:
        axes.text(0, 8, title, fontsize=10, color=INK, va="center")
    if legend:
        axes.legend(
            handles=[
                Patch(color=colour, alpha=0.45, label=name)
                for name, colour in legend.items()
            ],
            frameon=False,
            fontsize=9,
            ncols=len(legend),
            loc="upper left",
            bbox_to_anchor=(0, 1 - 16 * bool(title) / height),
            borderpad=0,
            borderaxespad=0,
        )
    return figure
