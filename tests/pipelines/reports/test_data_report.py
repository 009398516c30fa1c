"""Counts of the data report, each worked out by hand."""

import json

import numpy as np
import pytest

from pipelines.reports.data_report import (
    Part,
    TokenCounts,
    data_report,
    report_lines,
)

pytestmark = pytest.mark.backend_free


def part(labels, hashes, lengths, read=0, unknown=0):
    counts = TokenCounts(np.array(lengths), 2, read, unknown)
    return Part(labels, np.array(hashes), counts)


@pytest.fixture
def report():
    lengths = [*range(3, 22), 2]  # 20 texts; the last one is empty
    return data_report(
        {
            # Texts 0 to 14, the first of them six times.
            "train": part(
                ["b"] * 12 + ["10", "9"] * 4,
                [0] * 6 + list(range(1, 15)),
                lengths,
                read=200,
                unknown=3,
            ),
            # One text of train, twice; another one.
            "validation": part(["b", "c", "c"], [14, 14, 99], [4, 4, 10]),
            # One text of train, one of validation, one of both.
            "test": part(["b"] * 3, [3, 99, 14], [12, 2, 2]),
        },
        max_length=10,
    )


def test_every_count_of_the_training_data(report):
    assert report["max_length"] == 10
    assert report["train"] == {
        "rows": 20,
        "labels": {"9": 4, "10": 4, "b": 12},
        "tokens": {"median": 11.5, "p95": 20, "longest": 21},
        # 11 to 21 tokens are 1 to 11 too many.
        "over_length": {"rows": 11, "share": 0.55, "tokens": 66},
        "unknown_share": 0.015,
        "empty": 1,
        "repeated": 5,
        "also_in": {},
    }


def test_leaks_are_counted_by_the_split_that_they_come_from(report):
    assert report["validation"]["also_in"] == {"train": 2}
    assert report["validation"]["repeated"] == 1
    assert report["test"]["also_in"] == {"train": 2, "validation": 2}
    assert report["test"]["repeated"] == 0
    assert report["test"]["empty"] == 2


def test_the_lines_are_a_table(report):
    lines = report_lines(report)
    rows = {line[2:26].strip(): line[26:].split() for line in lines[1:]}
    assert rows[""] == ["train", "validation", "test"]
    assert rows["rows"] == ["20", "3", "3"]
    assert rows["tokens, median"] == ["11.5", "4", "2"]
    assert rows["rows over 10 tokens"] == ["55.0%", "0.0%", "33.3%"]
    assert rows["tokens beyond"] == ["66", "0", "2"]
    assert rows["[UNK]"] == ["1.50%", "0.00%", "0.00%"]
    assert rows["rows without a token"] == ["1", "0", "2"]
    assert rows["rows repeated inside"] == ["5", "1", "0"]
    assert rows["rows also in train"] == ["2", "2"]
    assert rows["rows also in validation"] == ["2"]
    assert rows["label 10"] == ["4", "0", "0"]
    assert rows["label c"] == ["0", "2", "0"]
    assert len({len(line) for line in lines[1:] if "label" in line}) == 1
    json.dumps(report)


def test_several_labels_a_text_count_each():
    labels = [("a", "b"), (), ("b",)]
    found = data_report({"train": part(labels, [1, 2, 3], [3] * 3)}, 8)
    assert found["train"]["labels"] == {"a": 1, "b": 2}


def test_numbers_have_a_range():
    numbers = part([1.0, -2.0, 4.0], [1, 2, 3], [3] * 3)
    found = data_report({"train": numbers}, 8)
    assert found["train"]["labels"] == {
        "smallest": -2.0,
        "mean": 1.0,
        "largest": 4.0,
    }
    assert report_lines(found)[-1].split() == ["label", "largest", "4"]


def test_many_labels_are_shown_in_part():
    labels = [str(i) for i in range(30) for _ in range(i + 1)]
    found = data_report({"train": part(labels, range(465), [3] * 465)}, 8)
    assert len(found["train"]["labels"]) == 30
    lines = report_lines(found)
    assert lines[-1].strip() == "and 10 labels more"
    assert sum(line.startswith("  label ") for line in lines) == 20
    assert not any(line.startswith("  label 9 ") for line in lines)


def test_no_texts_are_no_fault():
    found = data_report({"train": part([], [], [])}, 8)
    assert found["train"]["tokens"]["longest"] == 0
    assert report_lines(found)


def test_windows_are_counted_where_there_may_be_some():
    counts = TokenCounts(
        np.array([4, 30, 9]), 2, 40, 0, windows=np.array([1, 5, 2])
    )
    report = data_report({"train": Part(["a"] * 3, np.arange(3), counts)}, 8)
    assert report["train"]["windows"] == {"rows": 2, "total": 8}
    lines = dict(line.rsplit(maxsplit=1) for line in report_lines(report)[2:])
    assert lines["  rows in several windows"] == "2"
    assert lines["  windows of all rows"] == "8"
