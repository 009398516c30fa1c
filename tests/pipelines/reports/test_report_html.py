"""`report.html`: complete, harmless, and made for every kind of run."""

import copy
import dataclasses
import html.parser
import re
import xml.etree.ElementTree

import numpy as np
import pytest

from pipelines.data.examples import PARTS
from pipelines.reports.report_html import report_page
from pipelines.tagging.schemes import PLAIN
from tests.pipelines.reports.runs import (
    classified,
    pretrained,
    stage,
    tagged,
)

pytestmark = pytest.mark.backend_free
VOID = {"meta", "br", "img", "link", "input", "hr", "wbr"}
NASTY = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "</style></svg><b onclick=x>",
    "\u202egnihton\u202c \u200f\u05d0\u05d1",
    "a\x00b\x1bc\x85d",
    "$x$ ${body} &amp; \\alpha",
    "\ud800 half of a pair",
    "x" * 500,
    " ",
    "日本語 🦓",
)


class Page(html.parser.HTMLParser):
    """A page in parts; refuses tags that do not close as they opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


RUNS = {
    "classes": classified,
    "two classes": lambda: classified(("no", "yes")),
    "several labels": lambda: classified(problem="multi_label"),
    "numbers": lambda: classified(problem="regression"),
    "hundred classes": lambda: classified([f"c{i}" for i in range(100)]),
    "entities": tagged,
    "plain tags": lambda: tagged(types=("noun",), scheme=PLAIN),
    "pretraining": pretrained,
    "one epoch": lambda: classified(stages=[stage("tune", 1, accuracy=0.5)]),
    "nasty classes": lambda: classified(NASTY, texts=NASTY),
    "nasty sets of labels": lambda: classified(
        NASTY, "multi_label", texts=NASTY
    ),
    "nasty tags": lambda: tagged(NASTY[:4], ("<b>", "</svg>" * 100)),
}


@pytest.fixture(scope="module", params=list(RUNS))
def page(request):
    return report_page(*arguments(RUNS[request.param]()))


def arguments(run):
    return run.metrics, run.settings, run.options, run.outcome


def test_every_tag_closes_and_every_picture_is_xml(page):
    Page(page)
    found = re.findall(r"<svg.*?</svg>", page, re.S)
    assert found
    for svg in found:
        xml.etree.ElementTree.fromstring(svg)


def test_nothing_is_fetched_and_nothing_runs(page):
    found = Page(page)
    assert not {"script", "iframe", "img", "link", "object", "form"} & set(
        found.tags
    )
    for tag, name, value in found.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("src", "srcset", "action", "data", "poster")
        if name.endswith("href"):
            assert value.startswith("#"), (tag, value)
        if not name.startswith("xmlns"):
            assert "//" not in value or tag == "th", (tag, name, value)
    urls = re.findall(r"url\(.", page)
    assert set(urls) <= {"url(#"}
    assert "@import" not in page


def test_ids_are_unique_or_of_the_same_thing(page):
    by_id = {}
    for tag, rest in re.findall(r'<(\w+) (id="[^"]*"[^>]*)>', page):
        name = rest.split('"')[1]
        assert by_id.setdefault(name, (tag, rest)) == (tag, rest)


def test_the_page_is_utf_8(page):
    assert page.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page)


@pytest.fixture(scope="module")
def words():
    return Page(report_page(*arguments(classified()))).words


def test_the_verdict_comes_first(words):
    first, _ = words.split(" Data ", 1)
    run = classified()
    accuracy = run.metrics["test"]["accuracy"]
    assert "Text classifier: minilm-l6 on data.csv" in first
    assert "Better than always naming the most frequent label" in first
    assert f"{accuracy:.4f}" in first
    assert "0.3333" in first
    assert "time 75 s" in first
    rows = run.metrics["data"]["test"]["rows"]
    assert f"test rows {rows}" in first


def test_each_part_of_the_run_is_told(words):
    for part in (
        "rows over 16 tokens",
        "label mango",
        "adapt 1,234 1.0% 4 0.001",
        "matthews correlation",
        "precision recall F1 support",
        "most often confused",
        "Expected calibration error",
        "Worst mistakes",
        "stage adapt 3.2 1.5 0.2 1.1% 12.5% 16, 32",
        "the whole run 75.0",
        "KERAS_BACKEND=jax keras-encoder classify --data some/folder/data.csv",
        "numpy " + np.__version__,
    ):
        assert part in words, part


def test_texts_and_labels_are_shown_as_they_are():
    text = Page(report_page(*arguments(RUNS["nasty classes"]())))
    for name in NASTY[:4]:
        assert name in "".join(text.text), name
    assert "x" * 400 in "".join(text.text)
    assert "�b" in "".join(text.text)


def test_a_run_that_learned_nothing_is_not_praised():
    run = classified()
    metrics = copy.deepcopy(run.metrics)
    metrics["test"]["accuracy"] = 0.4
    page = report_page(metrics, run.settings, run.options, run.outcome)
    assert "Not clearly better than" in page


def test_without_test_data_the_validation_data_speak():
    run = classified(part="validation")
    text = Page(report_page(*arguments(run))).words
    assert "validation accuracy" in text
    assert "test accuracy" not in text
    assert "worst mistakes on the validation data" in text


@pytest.mark.parametrize("nothing", [float("nan"), float("inf"), None])
def test_an_epoch_that_diverged_is_told(nothing):
    bad = stage("adapt", 3, accuracy=0.5)
    bad["history"][1].update(train_loss=nothing, loss=nothing)
    page = Page(report_page(*arguments(classified(stages=[bad]))))
    assert "1 of 3 epochs had a loss that is not finite" in page.words


def test_without_an_outcome_there_are_no_mistakes():
    run = classified()
    text = report_page(run.metrics, run.settings, run.options)
    assert "Worst mistakes" not in text
    assert "Calibration" not in text


def test_a_run_without_mistakes_says_so():
    run = classified()
    outcome = dataclasses.replace(run.outcome, mistakes=[])
    text = report_page(run.metrics, run.settings, run.options, outcome)
    assert "Worst mistakes None on the test data." in Page(text).words


def test_a_wrong_word_is_marked_in_its_sentence():
    page = report_page(*arguments(tagged()))
    words = " ".join(f"<bdi>{w}</bdi>" for w in ("Ines", "met", "Anna"))
    assert f"{words} <mark><bdi>Lee</bdi></mark>" in page
    # The surest of five.
    assert "<b><bdi>O</bdi></b> 0.700 instead of <b><bdi>I-PER</bdi>" in page


def test_only_the_surroundings_of_a_wrong_word_are_quoted():
    run = tagged()
    for mistake in run.outcome.mistakes:
        tokens = [f"w{i}" for i in range(60)]
        mistake.update(
            tokens=tokens,
            gold=["O"] * 60,
            predicted=["O"] * 60,
            scores=[0.9] * 60,
            wrong=[30],
        )
    words = Page(report_page(*arguments(run))).words
    assert "… w18 w19" in words and "w42 …" in words
    assert "w17" not in words and "w43" not in words


def test_what_was_fitted_on_validation_data_is_told():
    run = classified()
    errors = {"before": 0.0625, "after": 0.0312}
    run.metrics["calibration"] = {
        "temperature": 1.234,
        "calibration_error": errors,
        "abstain_below": 0.75,
    }
    words = Page(report_page(*arguments(run))).words
    assert "A temperature of 1.234" in words
    assert "from 0.0625 to 0.0312" in words
    assert "below a score of 0.750" in words


def test_a_curve_over_the_data_is_drawn():
    run = classified()
    run.metrics["learning_curve"] = [
        {"share": s, "rows": int(90 * s), "test_accuracy": s}
        for s in (0.1, 0.3, 1.0)
    ]
    page = report_page(*arguments(run))
    assert "accuracy by training data" in page


def test_leaks_are_told():
    run = classified()
    assert "Leak:" in report_page(*arguments(run))
    for part in PARTS:
        run.metrics["data"][part]["also_in"] = {}
    assert "Leak:" not in report_page(*arguments(run))


def test_data_from_python_are_named_as_such():
    run = classified()
    options = dataclasses.replace(run.options, data=[("a", "b")])
    text = Page(report_page(run.metrics, run.settings, options)).words
    assert "on data from Python" in text
    assert "data: given in Python" in text
    assert "--data" not in text
