"""Pictures of what happens inside an encoder, for notebooks."""

from collections.abc import Mapping, Sequence

import numpy as np

from pipelines.plots.style import BLUE, COLOURS, INK, SIX, style

_PANEL = 3.1  # inches, the width of one panel of several


def histograms(panels: Mapping[str, np.ndarray], xlabel: str):
    """One histogram a panel, each on an axis of its own.

    Args:
        panels: title -> values of any shape.
        xlabel: what the values are.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure, places = _panels(list(panels))
    for axes, values in zip(places, panels.values(), strict=True):
        axes.hist(np.ravel(values), bins=60, color=BLUE, alpha=0.8)
        axes.set_xlabel(xlabel)
        axes.set_yticks([])
    return figure


def lines(
    panels: Mapping[str, Mapping[str, tuple[Sequence, Sequence]]],
    xlabel: str,
    ylabel: str,
    log: bool = False,
    same_scale: bool = True,
):
    """Curves, several a panel.

    Args:
        panels: title -> name in the legend -> (x, y).
        xlabel: what stands at the horizontal axes.
        ylabel: what stands at the vertical axis.
        log: whether the vertical axis is logarithmic.
        same_scale: whether all panels share it.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure, places = _panels(list(panels), sharey=same_scale)
    told = set()  # a legend that would say the same again is left out
    for axes, curves in zip(places, panels.values(), strict=True):
        for number, (name, (x, y)) in enumerate(curves.items()):
            axes.plot(
                x,
                y,
                color=COLOURS[number % len(COLOURS)],
                ls="-" if number < len(COLOURS) else "--",
                marker="o" if len(x) < 30 else None,
                ms=3,
                lw=1.5,
                label=name,
            )
        axes.set_xlabel(xlabel)
        if all(isinstance(n, int) for x, _ in curves.values() for n in x):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if len(curves) > 1 and tuple(curves) not in told:
            told.add(tuple(curves))
            axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    places[0].set_ylabel(ylabel)
    if log:
        for axes in places:
            _log_scale(axes)
    return figure


def bars(values: Mapping[str, float], xlabel: str):
    """A horizontal bar for each number, from top to bottom.

    Args:
        values: name -> number of 0 or more.
        xlabel: what the numbers are.

    Returns:
        `matplotlib.figure.Figure`.
    """
    (figure, (axes,)) = _panels([""], 5.0, 0.3 * len(values) + 0.8)
    drawn = axes.barh(
        list(values), list(values.values()), color=BLUE, alpha=0.8
    )
    axes.bar_label(drawn, fmt="{:.3g}", padding=3, color=INK, fontsize=8.5)
    axes.margins(x=0.12)
    axes.set_xlabel(xlabel)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    return figure


def share_bars(tables: Mapping[str, Mapping[str, float]]):
    """One bar of 100 % for each table, in parts.

    Args:
        tables: name of the bar -> part -> amount; all have the same parts.

    Returns:
        `matplotlib.figure.Figure`; parts of 3 % and more show their share.
    """
    (figure, (axes,)) = _panels([""], 7.5, 0.45 * len(tables) + 1.3)
    names, ends = list(tables), np.zeros(len(tables))
    for part, colour in zip(next(iter(tables.values())), SIX, strict=False):
        shares = np.array([t[part] / sum(t.values()) for t in tables.values()])
        axes.barh(names, shares, left=ends, color=colour, label=part, alpha=0.8)
        for row, share in enumerate(shares):
            if share >= 0.03:
                axes.text(
                    ends[row] + share / 2,
                    row,
                    f"{share:.0%}",
                    ha="center",
                    va="center",
                    color=INK,
                    fontsize=8.5,
                )
        ends += shares
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.grid(False)
    axes.legend(
        frameon=False,
        fontsize=8.5,
        ncols=6,
        loc="lower center",
        bbox_to_anchor=(0.45, 1.0),
        columnspacing=1.0,
        handlelength=1.0,
    )
    return figure


def heat_maps(
    panels: Mapping[str, np.ndarray],
    xlabel: str = "head",
    ylabel: str = "layer",
    diverging: bool = False,
):
    """Matrices as colours, each panel with its own scale.

    Args:
        panels: title -> (rows, columns).
        xlabel: what the columns are.
        ylabel: what the rows are.
        diverging: whether 0 is the middle of the scale.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure, places = _panels(list(panels))
    for axes, values in zip(places, panels.values(), strict=True):
        scale = {"cmap": "viridis"}
        if diverging:
            most = np.abs(values).max()
            scale = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
        image = axes.imshow(
            values, aspect="auto", interpolation="nearest", **scale
        )
        figure.colorbar(image, ax=axes, shrink=0.9)
        axes.set_xlabel(xlabel)
        axes.grid(False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
    places[0].set_ylabel(ylabel)
    return figure


def _log_scale(axes):
    """Plain numbers, at 2 and 5 too where there are few decades."""
    from matplotlib import ticker

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    marks = (1, 2, 5) if high < 100 * low else (1,)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=marks))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def _panels(titles, width=None, height=2.7, sharey=False):
    from matplotlib.figure import Figure

    count = len(titles)
    if width is None:
        width = max(4.6, _PANEL * count)
    figure = Figure(figsize=(width, height), layout="constrained")
    places = figure.subplots(1, count, sharey=sharey, squeeze=False)[0]
    for axes, title in zip(places, titles, strict=True):
        style(axes)
        if title:
            axes.set_title(title, color=INK, fontsize=10, parse_math=False)
    return figure, places
