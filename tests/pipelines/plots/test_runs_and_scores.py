"""What the pictures show; how they look is for eyes."""

import sys
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from pipelines.plots import runs, scores, style
from pipelines.reports.markup import svg_text
from tests.pipelines.reports.runs import stage

pytestmark = pytest.mark.backend_free
LOSSES = {"train_loss": "training", "loss": "validation"}


def texts(figure):
    """The words of a picture, as the page has them."""
    root = ET.fromstring(svg_text(figure))
    return ["".join(e.itertext()) for e in root.iter() if e.tag[-4:] == "text"]


def test_epochs_go_on_counting_from_stage_to_stage():
    stages = [stage("adapt", 3), stage("finetune", 2)]
    best = {"stage": "finetune", "epoch": 1}
    figure = runs.learning_curves(stages, LOSSES, best, "loss")
    (axes,) = figure.axes
    train, validation = axes.lines[:2]
    assert train.get_xdata().tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(
        validation.get_ydata(), [1, 1 / 2, 1 / 3, 1, 1 / 2]
    )
    places = [line.get_xdata()[0] for line in axes.lines[2:]]
    assert 3.5 in places and 4 in places  # the border, the best
    assert {"adapt", "finetune", "training", "kept"} <= set(texts(figure))


def test_what_is_not_finite_is_a_gap():
    stages = [stage("adapt", 3)]
    stages[0]["history"][1]["loss"] = None
    (axes,) = runs.learning_curves(stages, LOSSES).axes
    assert np.isnan(axes.lines[1].get_ydata()).tolist() == [0, 1, 0]


def test_sizes_of_the_data_are_named():
    rows = [{"rows": n, "test_f1": n / 2000} for n in (100, 300, 1000)]
    figure = runs.data_curve(rows, {"test_f1": "test"}, "F1")
    (axes,) = figure.axes
    assert axes.lines[0].get_ydata().tolist() == [0.05, 0.15, 0.5]
    assert {"100", "300", "1,000", "test", "F1"} <= set(texts(figure))


def test_a_cell_has_its_count_and_the_share_of_its_row():
    figure = scores.confusion_matrix([[8, 2], [0, 1000]], ["no", "yes"])
    (axes,) = figure.axes
    cells = {
        (round(p.get_y() + 0.5), round(p.get_x() + 0.5)): p.get_alpha()
        for p in axes.patches
    }
    assert set(cells) == {(0, 0), (0, 1), (1, 1)}
    assert cells[1, 1] > cells[0, 0] > cells[0, 1]
    assert {"8", "2", "1,000", "no", "yes"} <= set(texts(figure))


def test_a_large_matrix_has_colours_only():
    labels = [f"class {i}" for i in range(20)]
    found = texts(scores.confusion_matrix(np.eye(20) * 123, labels))
    assert "123" not in found
    assert set(labels) <= set(found)


def test_a_bar_for_each_name():
    figure = scores.score_bars({"a": 0.25, "$b$": 1.0, "c": 0.0}, "F1")
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [0.25, 1.0, 0.0]
    assert {"a", "$b$", "0.25", "1.00", "F1"} <= set(texts(figure))


def test_bins_are_points_and_bars():
    bins = [
        {"low": 0.5, "high": 0.6, "confidence": 0.55, "right": 0.4, "count": 7},
        {"low": 0.9, "high": 1.0, "confidence": 0.97, "right": 1, "count": 30},
    ]
    above, below = scores.reliability_diagram(bins).axes
    assert above.lines[1].get_xydata().tolist() == [[0.55, 0.4], [0.97, 1]]
    assert [bar.get_height() for bar in below.patches] == [7, 30]


def test_of_many_points_some_are_drawn():
    values = np.arange(5001.0)
    (axes,) = scores.scatter(values, values + 1).axes
    assert 500 < len(axes.lines[1].get_xdata()) <= 1000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sport", "sport"),
        ("x" * 30, "x" * 21 + "…"),
        ("a\nb\x00c\u202ed", "a b c d"),
        ("می‌خواهم", "می‌خواهم"),
        (" ", "(empty)"),
    ],
)
def test_names_fit_their_place(name, expected):
    assert style.short(name) == expected


def test_pictures_leave_matplotlib_as_it_was():
    before = dict(matplotlib.rcParams)
    had_pyplot = "matplotlib.pyplot" in sys.modules
    svg = svg_text(scores.score_bars({"日本": 1.0}))
    assert dict(matplotlib.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) == had_pyplot
    assert style.INK not in svg and "currentColor" in svg
    assert svg == svg_text(scores.score_bars({"日本": 1.0}))
