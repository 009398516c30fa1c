"""Pictures of texts: what is drawn is what was given."""

import numpy as np
import pytest

from pipelines.plots.tokens import (
    attention_maps,
    marked_tokens,
    token_strip,
)
from tests.pipelines.plots.figures import png, texts

pytestmark = pytest.mark.backend_free


def test_attention_maps_share_a_scale_and_name_the_tokens():
    tokens = ["[CLS]", "a", "$b$"]
    scores = {f"head {i}": np.eye(3) / (i + 1) for i in range(4)}
    figure = attention_maps(scores, tokens)
    assert png(figure)
    seen = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in seen] == list(scores)
    assert {axes.images[0].get_clim() for axes in seen} == {(0, 1)}
    names = [[t.get_text() for t in a.get_yticklabels()] for a in seen]
    assert names == [tokens, [""] * 3, [""] * 3, tokens]


def test_a_strip_holds_all_tokens_on_lines_of_its_width():
    tokens = [f"token{i}" for i in range(60)]
    values = np.linspace(-2, 1, 60)
    figure = token_strip(tokens, values, "title")
    assert png(figure)
    (axes,) = figure.axes
    assert texts(axes) == [*tokens, "title"]
    boxes = axes.patches
    assert max(b.get_x() + b.get_width() for b in boxes) <= 640
    assert len({b.get_y() for b in boxes}) > 1
    assert boxes[0].get_alpha() == pytest.approx(0.85)
    assert boxes[-1].get_alpha() == pytest.approx(0.425)
    assert boxes[0].get_facecolor()[:3] != boxes[-1].get_facecolor()[:3]


def test_a_strip_of_zeros_has_no_colour():
    figure = token_strip(["a", "b"], [0.0, 0.0])
    assert png(figure)
    assert [patch.get_alpha() for patch in figure.axes[0].patches] == [0, 0]


def test_marked_tokens_have_a_legend_of_their_kinds():
    figure = marked_tokens(["a", "b", "c"], [None, "masked", "random"])
    assert png(figure)
    (axes,) = figure.axes
    names = [t.get_text() for t in axes.get_legend().get_texts()]
    assert names == ["masked", "random"]
    alphas = [patch.get_alpha() for patch in axes.patches]
    assert alphas[0] == 0 and min(alphas[1:]) > 0
