"""Pictures of an encoder: what is drawn is what was given."""

import numpy as np
import pytest

from pipelines.plots.encoder import (
    bars,
    heat_maps,
    histograms,
    lines,
    share_bars,
)
from tests.pipelines.plots.figures import png, texts

pytestmark = pytest.mark.backend_free


def test_a_histogram_counts_every_value():
    values = np.arange(600.0).reshape(20, 30)
    figure = histograms({"one": values, "two": values[:2]}, "score")
    assert png(figure)
    counts = [sum(b.get_height() for b in a.patches) for a in figure.axes]
    assert counts == [600, 60]
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    assert figure.axes[0].get_xlabel() == "score"


@pytest.mark.parametrize("log", [False, True])
def test_lines_are_the_curves(log):
    curves = {f"c{i}": ([1, 2, 3], [i + 1, 4, 9]) for i in range(6)}
    figure = lines({"left": curves, "right": {"c": ([0], [1])}}, "x", "y", log)
    assert png(figure)
    left, right = figure.axes
    drawn = {line.get_label(): list(line.get_ydata()) for line in left.lines}
    assert drawn == {name: y for name, (_, y) in curves.items()}
    looks = {(line.get_color(), line.get_linestyle()) for line in left.lines}
    assert len(looks) == 6  # no two curves look alike
    assert left.get_yscale() == ("log" if log else "linear")
    assert left.get_legend() and not right.get_legend()


def test_panels_of_the_same_curves_have_one_legend():
    curves = {"a": ([1, 2], [1, 2]), "b": ([1, 2], [2, 3])}
    panels = {"1": curves, "2": curves, "3": {**curves, "c": ([1], [1])}}
    legends = [axes.get_legend() for axes in lines(panels, "x", "y").axes]
    assert [legend is not None for legend in legends] == [True, False, True]


def test_a_bar_is_as_long_as_its_number():
    figure = bars({"one": 1.27, "two": 0.5}, "share")
    assert png(figure)
    (axes,) = figure.axes
    assert [patch.get_width() for patch in axes.patches] == [1.27, 0.5]
    assert texts(axes) == ["1.27", "0.5"]
    assert axes.get_xlim()[1] > 1.27  # the number has room


def test_the_shares_of_a_bar_sum_to_one():
    tables = {"a": {"x": 1, "y": 3}, "b": {"x": 98, "y": 2}}
    figure = share_bars(tables)
    assert png(figure)
    (axes,) = figure.axes
    widths = [patch.get_width() for patch in axes.patches]
    np.testing.assert_allclose(widths, [0.25, 0.98, 0.75, 0.02])
    assert texts(axes) == ["25%", "98%", "75%"]  # 2 % has no room


def test_a_heat_map_shows_its_matrix():
    values = np.arange(6.0).reshape(2, 3) - 1
    figure = heat_maps({"one": values}, diverging=True)
    assert png(figure)
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), values)
    assert image.get_clim() == (-4, 4)
