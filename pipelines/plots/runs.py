"""Pictures of a run: how losses and scores went."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from pipelines.plots.style import (
    COLOURS,
    GREEN,
    INK,
    legend,
    make_figure,
)


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
    figure, axes = make_figure(title)
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
    legend(axes)
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
    figure, axes = make_figure(title)
    sizes = [row["rows"] for row in rows]
    for (key, name), colour in zip(curves.items(), COLOURS, strict=False):
        values = [_number(row.get(key)) for row in rows]
        axes.plot(sizes, values, color=colour, label=name, marker="o", ms=3.5)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training texts")
    legend(axes)
    return figure


def _mark_stages(axes, stages, best):
    """A line where a stage begins, its name above, a band at the best."""
    start, total = 0, sum(len(stage["history"]) for stage in stages)
    if len(stages) > 1:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.12 * (high - low))  # room for the names
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
