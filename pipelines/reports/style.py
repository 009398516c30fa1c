"""Colours and axes that all pictures share."""

# Text, axes and grid: `markup.svg_text` makes it the colour of the page.
INK = "#16202c"
BLUE, ORANGE, GREEN, PURPLE = "#3f7fd1", "#d9722b", "#2e9e6b", "#9467c9"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


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
