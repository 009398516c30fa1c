"""Colours, axes and measures that all pictures share."""

import unicodedata

# Text, axes and grid: `markup.svg_text` makes it the colour of the page.
INK = "#16202c"
BLUE, ORANGE, GREEN, PURPLE = "#3f7fd1", "#d9722b", "#2e9e6b", "#9467c9"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
GREY = "#8a94a0"
SIX = (*COLOURS, "#c9a227", GREY)

WIDTH, HEIGHT = 4.4, 3.0  # inches: legible on a phone, two beside each other
# Longer names would push the picture off its page.
_NAME = 22
_JOINERS = "\u200c\u200d"  # parts of words in Persian, Hindi and of emoji


def style(axes) -> None:
    """Gives matplotlib axes a light grid, two spines and no background."""
    axes.set_facecolor("none")
    axes.figure.set_facecolor("none")
    axes.grid(True, color=INK, alpha=0.12)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=8.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axes.spines[side].set_color(INK)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
        label.set_fontsize(9)


def short(name: str) -> str:
    """A name on one line, cut where a picture has no room for more."""
    # What turns the direction of text, or is no character, stays out.
    shown = (c if c.isprintable() or c in _JOINERS else " " for c in name)
    name = " ".join("".join(shown).split()) or "(empty)"
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def make_figure(
    title, width=WIDTH, height=HEIGHT, left=0.6, bottom=0.5, ratios=(1,)
):
    """A figure and its axes, one above the other; margins are in inches.

    They are given, as matplotlib's own layout draws each picture twice.
    """
    # Half a second; only who draws waits for it.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(
        left=left / width,
        right=1 - 0.12 / width,
        bottom=bottom / height,
        top=1 - (0.32 if title else 0.12) / height,
    )
    columns = figure.subplots(
        len(ratios), sharex=True, height_ratios=ratios, squeeze=False
    )
    for axes in columns.flat:
        style(axes)
    axes = columns[0, 0]
    if title:
        axes.set_title(
            title, color=INK, fontsize=10, loc="left", parse_math=False
        )
    return figure, *columns.flat


def room_for(names):
    """Inches that the longest of some tick labels takes, and a little."""
    cells = max(
        sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in name)
        for name in names
    )
    return 0.15 + 0.073 * cells


def legend(axes):
    """A legend without a frame."""
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)
