"""Pictures of what a model answered: by class, by score, by value."""

from collections.abc import Mapping, Sequence

import numpy as np

from pipelines.plots.style import (
    BLUE,
    HEIGHT,
    INK,
    ORANGE,
    WIDTH,
    legend,
    make_figure,
    room_for,
    short,
)

# More cells than these have no room for their number.
_NUMBERED = 12
_POINTS = 1000


def confusion_matrix(matrix, labels: Sequence[str], title: str = ""):
    """How often each true label (rows) got each predicted one (columns).

    Args:
        matrix: counts, (labels, labels).
        labels: in the order of rows and columns.
        title: of the picture.

    Returns:
        `matplotlib.figure.Figure`; a cell's colour is its share of the row.
    """
    from matplotlib.patches import Rectangle

    counts = np.asarray(matrix)
    size, names = len(labels), [short(label) for label in labels]
    is_turned = size > 3 or max(map(len, names)) > 8
    left, bottom = 0.25 + room_for(names), 0.5
    if is_turned:
        bottom = 0.3 + 0.72 * room_for(names)
    cells = max(WIDTH - left - 0.12, 0.32 * size)
    figure, axes = make_figure(
        title, left + cells + 0.12, bottom + cells + 0.32, left, bottom
    )
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    for row, column in np.argwhere(counts > 0):
        colour = BLUE if row == column else ORANGE
        # Never so strong that the number on it could not be read.
        alpha = 0.1 + 0.55 * shares[row, column]
        axes.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, fc=colour, alpha=alpha)
        )
        if size <= _NUMBERED:
            axes.text(
                column,
                row,
                f"{counts[row, column]:,}",
                ha="center",
                va="center",
                color=INK,
            )
    axes.set_xlim(-0.5, size - 0.5)
    axes.set_ylim(size - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(False)
    axes.set_xticks(range(size), names, parse_math=False)
    if is_turned:
        for tick in axes.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), names, parse_math=False)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    return figure


def reliability_diagram(bins: Sequence[dict], title: str = ""):
    """How often answers were right, by the probability given to them.

    Args:
        bins: from `metrics.reliability`.
        title: of the picture.

    Returns:
        `matplotlib.figure.Figure`: on the dotted line a probability of 0.8
        means right in 8 of 10 cases. The bars below count the answers.
    """
    figure, axes, below = make_figure(title, height=HEIGHT + 0.6, ratios=(4, 1))
    axes.plot([0, 1], [0, 1], color=INK, ls=":", alpha=0.7, label="calibrated")
    axes.plot(
        [each["confidence"] for each in bins],
        [each["right"] for each in bins],
        color=BLUE,
        marker="o",
        ms=4,
        label="this model",
    )
    axes.set_ylabel("share that is right")
    axes.set_ylim(-0.03, 1.03)
    legend(axes)
    below.bar(
        [(each["low"] + each["high"]) / 2 for each in bins],
        [each["count"] for each in bins],
        width=[0.9 * (each["high"] - each["low"]) for each in bins],
        color=BLUE,
        alpha=0.6,
    )
    below.set_ylabel("answers")
    below.set_xlabel("probability")
    below.set_xlim(-0.03, 1.03)
    return figure


def score_bars(scores: Mapping[str, float], title: str = ""):
    """A horizontal bar for each name, values from 0 to 1.

    Args:
        scores: value by name, drawn from top to bottom.
        title: what the values are.

    Returns:
        `matplotlib.figure.Figure`.
    """
    names = [short(name) for name in scores]
    height = max(1.2, 0.24 * len(names) + 0.8)
    figure, axes = make_figure(title, WIDTH, height, room_for(names), 0.3)
    values = list(scores.values())
    places = np.arange(len(names))
    axes.barh(places, values, color=BLUE, alpha=0.75, height=0.7)
    for place, value in zip(places, values, strict=True):
        inside = value > 0.85
        axes.text(
            value - 0.02 if inside else value + 0.02,
            place,
            f"{value:.2f}",
            color=INK,
            ha="right" if inside else "left",
            va="center",
        )
    axes.set_yticks(places, names, parse_math=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.grid(False, axis="y")
    return figure


def scatter(gold, predicted, title: str = ""):
    """Predicted against right numbers.

    Args:
        gold, predicted: (rows,).
        title: of the picture.

    Returns:
        `matplotlib.figure.Figure`, with every nth row of many.
    """
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    step = -(-len(gold) // _POINTS) or 1
    figure, axes = make_figure(title, WIDTH, HEIGHT + 0.6)
    both = np.concatenate([gold, predicted])
    ends = (np.nanmin(both), np.nanmax(both)) if len(both) else (0, 1)
    axes.plot(ends, ends, color=INK, ls=":", alpha=0.7)
    axes.plot(gold[::step], predicted[::step], "o", color=BLUE, ms=3, alpha=0.5)
    axes.set_xlabel("true")
    axes.set_ylabel("predicted")
    return figure
