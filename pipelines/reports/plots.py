"""Pictures of a run, as matplotlib figures for the report and for notebooks.

A figure here belongs to nobody: pyplot and its global state stay out, so a
notebook shows a figure as the last line of a cell and no window opens.
Colours are read on a white page and on a dark one.
"""

import itertools
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np

from pipelines.reports.style import BLUE, COLOURS, GREEN, INK, ORANGE, style

WIDTH, HEIGHT = 4.4, 3.0  # inches: legible on a phone, two beside each other
# Longer names would push the picture off its page.
_NAME = 22
# More cells than these have no room for their number.
_NUMBERED = 12
_POINTS = 1000
_JOINERS = "\u200c\u200d"  # parts of words in Persian, Hindi and of emoji


def learning_curves(
    stages: Sequence[dict],
    curves: Mapping[str, str],
    best: dict | None = None,
    title: str = "",
    baseline: tuple[str, float] | None = None,
):
    """Numbers by epoch; epochs go on counting from stage to stage.

    Args:
        stages: `metrics["stages"]`, each with its `name` and `history`.
        curves: key in the history -> name in the legend.
        best: `metrics["best"]`: the epoch whose weights were kept.
        title: what the numbers are.
        baseline: name and height of a level to compare with.

    Returns:
        `matplotlib.figure.Figure`. A number that is missing or not finite
        leaves a gap.
    """
    figure, axes = _figure(title)
    rows = [row for stage in stages for row in stage["history"]]
    epochs = np.arange(1, len(rows) + 1)
    for (key, name), colour in zip(
        curves.items(), itertools.cycle(COLOURS), strict=False
    ):
        values = [_number(row.get(key)) for row in rows]
        # A dot for each epoch: a line needs two.
        marker = "o" if len(rows) < 25 else None
        axes.plot(
            epochs, values, color=colour, label=name, marker=marker, ms=3.5
        )
    if baseline is not None:
        name, level = baseline
        axes.axhline(level, color=INK, alpha=0.6, ls=":", label=name)
    _mark_stages(axes, stages, best)
    axes.set_xlabel("epoch")
    axes.set_xlim(0.5, len(rows) + 0.5)
    axes.xaxis.get_major_locator().set_params(integer=True)
    _legend(axes)
    return figure


def data_curve(rows: Sequence[dict], curves: Mapping[str, str], title=""):
    """Numbers by the size of the training data, which grows by factors.

    Args:
        rows: `metrics["learning_curve"]`, each with its number of `rows`.
        curves: key in a row -> name in the legend.
        title: what the numbers are.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure, axes = _figure(title)
    sizes = [row["rows"] for row in rows]
    for (key, name), colour in zip(curves.items(), COLOURS, strict=False):
        values = [_number(row.get(key)) for row in rows]
        axes.plot(sizes, values, color=colour, label=name, marker="o", ms=3.5)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training texts")
    _legend(axes)
    return figure


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
    left, bottom = 0.25 + _room(names), 0.5
    if is_turned:
        bottom = 0.3 + 0.72 * _room(names)
    cells = max(WIDTH - left - 0.12, 0.32 * size)
    figure, axes = _figure(
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
    figure, axes, below = _figure(title, height=HEIGHT + 0.6, ratios=(4, 1))
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
    _legend(axes)
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
    figure, axes = _figure(title, WIDTH, height, _room(names), 0.3)
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
    figure, axes = _figure(title, WIDTH, HEIGHT + 0.6)
    both = np.concatenate([gold, predicted])
    ends = (np.nanmin(both), np.nanmax(both)) if len(both) else (0, 1)
    axes.plot(ends, ends, color=INK, ls=":", alpha=0.7)
    axes.plot(gold[::step], predicted[::step], "o", color=BLUE, ms=3, alpha=0.5)
    axes.set_xlabel("true")
    axes.set_ylabel("predicted")
    return figure


def short(name: str) -> str:
    """A name on one line, cut where a picture has no room for more."""
    # What turns the direction of text, or is no character, stays out.
    shown = (c if c.isprintable() or c in _JOINERS else " " for c in name)
    name = " ".join("".join(shown).split()) or "(empty)"
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _figure(
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


def _room(names):
    """Inches that the longest of some tick labels takes, and a little."""
    cells = max(
        sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in name)
        for name in names
    )
    return 0.15 + 0.073 * cells


def _legend(axes):
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)


def _mark_stages(axes, stages, best):
    """A line where a stage begins, its name above, a ring at the best."""
    start, total = 0, sum(len(stage["history"]) for stage in stages)
    for number, stage in enumerate(stages):
        if number:
            axes.axvline(start + 0.5, color=INK, alpha=0.35, lw=1)
        if len(stages) > 1:
            # A short last stage has no room to the right of its border.
            is_late = start > 0.75 * total
            axes.annotate(
                stage["name"],
                ((total if is_late else start) + 0.5, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-2 if is_late else 3, -2),
                textcoords="offset points",
                va="top",
                ha="right" if is_late else "left",
                fontsize=8,
                color=INK,
                parse_math=False,
            )
        if best is not None and best["stage"] == stage["name"]:
            axes.axvline(
                start + best["epoch"],
                color=GREEN,
                lw=5,
                alpha=0.25,
                label="kept",
            )
        start += len(stage["history"])


def _number(value):
    return np.nan if value is None else float(value)
