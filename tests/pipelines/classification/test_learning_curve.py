"""Parts of the data that grow, and scores that grow with them."""

import csv
import dataclasses

import numpy as np
import pytest

from pipelines.classification import learning_curve
from pipelines.classification.learning_curve import (
    StatesOnce,
    curve_lines,
    nested_rows,
    read_shares,
)
from pipelines.classify import classify
from pipelines.errors import InputError
from pipelines.training.features import Below, compute_states
from pipelines.training.inputs import Inputs
from tests.pipelines.training.staged import inputs, task_model

free = pytest.mark.backend_free


@free
def test_shares_are_sorted_and_all_data_come_anyway():
    assert read_shares("1, 0.5,0.05,0.5") == [0.05, 0.5]
    assert read_shares(None) == read_shares("1") == []


@free
@pytest.mark.parametrize("text", ["0", "0.5,1.1", "half", "0.1,,1", "nan"])
def test_other_shares_are_refused(text):
    with pytest.raises(InputError, match="--learning-curve: expected shares"):
        read_shares(text)


@free
def test_each_part_holds_the_one_before_and_every_label():
    labels = ["a"] * 60 + ["b"] * 30 + ["c"]
    parts = nested_rows(labels, [0.1, 0.5], seed=3)
    small, half = parts[0.1], parts[0.5]
    assert set(small) < set(half)
    names = [labels[row] for row in half]
    assert [names.count(name) for name in "abc"] == [30, 15, 1]
    assert len(small) == 6 + 3 + 1
    again = nested_rows(labels, [0.1, 0.5], seed=3)[0.1]
    assert again.tolist() == small.tolist()
    assert nested_rows(labels, [0.1], seed=4)[0.1].tolist() != small.tolist()


@free
def test_the_table_shows_the_metric_that_chose_the_weights():
    rows = [
        {"share": 0.1, "rows": 5, "validation_r2": 0.25, "test_r2": 0.125},
        {"share": 1.0, "rows": 50, "validation_r2": 0.5, "test_r2": 0.75},
    ]
    lines = [line.split() for line in curve_lines(rows, "r2")]
    assert lines[1] == ["share", "texts", "validation", "test"]
    assert lines[2] == ["0.1", "5", "0.2500", "0.1250"]
    assert lines[3] == ["1", "50", "0.5000", "0.7500"]


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("owners", [None, [0, 0, 1, 1, 1, 2, 3, 3, 4, 4, 4, 5]])
def test_the_frozen_part_runs_once_for_all_parts(cut, owners, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return compute_states(*arguments)

    monkeypatch.setattr(learning_curve, "compute_states", counted)
    task = task_model()
    whole = inputs()
    if owners is not None:
        whole = Inputs(whole.columns, owners=np.array(owners))
    states = StatesOnce(whole)
    for texts in ([0, 2, 5], [1, 3]):
        part = states.take(np.array(texts))
        expected = compute_states(Below(task, cut), part, 5)
        found = states(Below(task, cut), part, 5)
        assert len(found) == len(expected)
        for row in range(len(found)):
            np.testing.assert_allclose(
                found.columns["states"][row],
                expected.columns["states"][row],
                atol=1e-5,
            )
        if owners is not None:
            assert found.owners.tolist() == expected.owners.tolist()
        if cut == 2:  # what is overwritten is a copy
            found.columns["states"][:] = 0
    assert len(calls) == 1


def test_a_curve_is_told_and_leaves_the_model_alone(
    head_only, tmp_path, capsys
):
    options = dataclasses.replace(head_only, dropout=0.0)
    alone, metrics = classify(options)
    options = dataclasses.replace(
        options,
        learning_curve="0.2,0.999",
        target_accuracy=0.5,
        output=str(tmp_path / "curve"),
    )
    fine_tuned, found = classify(options)
    for one, other in zip(
        alone.model.get_weights(), fine_tuned.model.get_weights(), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert found["test"]["loss"] == pytest.approx(metrics["test"]["loss"])
    limit = found["calibration"]["abstain_below"]
    assert fine_tuned.settings["abstain_below"] == limit
    small, nearly, everything = found["learning_curve"]
    assert small["rows"] < nearly["rows"] == everything["rows"] == 48
    # Every text, so the same run once more.
    for name, value in everything.items():
        if name != "share":
            assert nearly[name] == pytest.approx(value, abs=1e-5), name
    assert small["validation_loss"] != everything["validation_loss"]
    with open(tmp_path / "curve" / "learning_curve.csv") as file:
        written = list(csv.DictReader(file))
    assert [row["share"] for row in written] == ["0.2", "0.999", "1.0"]
    assert "Learning curve, macro_f1" in capsys.readouterr().err
