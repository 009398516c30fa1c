import os
import subprocess
import sys

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from pipelines.data.examples import TextExample
from pipelines.data.labels import (
    compare_label_sets,
    label_names,
    normalise_examples,
    normalise_label,
)
from pipelines.errors import InputError


def examples(*labels):
    return [
        TextExample("t", label=x, where=f"f:{i}") for i, x in enumerate(labels)
    ]


@pytest.mark.parametrize(
    "value, name",
    [
        (1, "1"),
        (1.0, "1"),
        ("1", "1"),
        ("1.0", "1"),
        ("1.000", "1"),
        (" 1 ", "1"),
        (np.int64(1), "1"),
        (np.float32(1), "1"),
        ("01", "01"),
        ("-1.0", "-1"),
        (-1, "-1"),
        (0.0, "0"),
        (-0.0, "0"),
        ("-0.0", "0"),
        (True, "true"),
        (False, "false"),
        (np.bool_(True), "true"),
        ("True", "True"),
        (" sports\n", "sports"),
        ("NA", "NA"),
        ("nan", "nan"),
        ("None", "None"),
        ("null", "null"),
        ("inf", "inf"),
        ("a|b", "a|b"),
        ("v1.5", "v1.5"),
        ("1.", "1"),
        ("1.0e2", "100"),
        ("1e5", "1e5"),
        ("2,5", "2,5"),
        ("+1", "+1"),
        ("...", "..."),
        (".", "."),
        ("123456789012345678.0", "123456789012345678"),
        ("1.2.3", "1.2.3"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_single_labels_become_names(value, name):
    assert normalise_label(value, "single_label", "f:1") == name


@pytest.mark.parametrize(
    "value",
    [
        2.5,
        "2.5",
        "-0.1",
        np.float32(0.5),
        "1e-05",
        ".5",
        "-.25",
        "1.5e-3",
        "1.25E1",
    ],
)
def test_a_fraction_is_no_class(value):
    with pytest.raises(InputError, match="f:1: .*--problem regression"):
        normalise_label(value, "single_label", "f:1")


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_infinity_is_no_class(value):
    with pytest.raises(InputError, match="f:1: expected a class"):
        normalise_label(value, "single_label", "f:1")


@pytest.mark.parametrize("value", [[0], [], ["a", "b"], ("a",)])
def test_a_list_is_not_one_label(value):
    with pytest.raises(InputError, match="f:1: .*--problem multi_label"):
        normalise_label(value, "single_label", "f:1")


@pytest.mark.parametrize(
    "problem", ["single_label", "multi_label", "regression"]
)
@pytest.mark.parametrize("value", [{}, b"x", object()])
def test_other_types_are_refused(value, problem):
    with pytest.raises(InputError, match="f:1: expected"):
        normalise_label(value, problem, "f:1")


@pytest.mark.parametrize(
    "problem", ["single_label", "multi_label", "regression"]
)
@pytest.mark.parametrize("value", [None, float("nan"), np.float64("nan"), "  "])
def test_a_missing_label_is_an_error_or_none(value, problem):
    with pytest.raises(InputError, match=r"f:1: no label \(null or empty\)"):
        normalise_label(value, problem, "f:1")
    assert normalise_label(value, problem, "f:1", unlabelled=True) is None


@pytest.mark.parametrize("problem", ["single_label", "regression"])
def test_an_empty_label_is_a_missing_label(problem):
    with pytest.raises(InputError, match="f:1: no label"):
        normalise_label("", problem, "f:1")


@pytest.mark.parametrize("value", [-1, -1.0, "-1", "-1.0", np.int8(-1)])
def test_minus_one_may_mean_unlabelled(value):
    assert normalise_label(value, "single_label", "f", unlabelled=True) is None
    assert normalise_label(value, "single_label", "f") == "-1"


@pytest.mark.parametrize(
    "value, names",
    [
        ("a|b", ("a", "b")),
        (" a | b ", ("a", "b")),
        ("a", ("a",)),
        (["b", "a"], ("b", "a")),
        ([1, 2.0, "3"], ("1", "2", "3")),
        (np.array([1, 2]), ("1", "2")),
        ([True], ("true",)),
        (3, ("3",)),
        ([], ()),
        ("", ()),
    ],
)
def test_multi_labels_become_tuples_of_names(value, names):
    assert normalise_label(value, "multi_label", "f:1") == names


@pytest.mark.parametrize("value", ["a|", "|", "a||b", ["a", ""], [None]])
def test_empty_names_are_refused(value):
    with pytest.raises(InputError, match="f:1: .*found an empty name"):
        normalise_label(value, "multi_label", "f:1")


@pytest.mark.parametrize("value", [[0, 1, 0], "a|a", ["1", 1.0]])
def test_repeated_names_are_refused(value):
    with pytest.raises(InputError, match="f:1: expected each label once"):
        normalise_label(value, "multi_label", "f:1")


@pytest.mark.parametrize("value", [[[0]], [2.5], "a|2.5", [{}]])
def test_members_of_multi_labels_are_names(value):
    with pytest.raises(InputError, match="f:1: expected"):
        normalise_label(value, "multi_label", "f:1")


@pytest.mark.parametrize(
    "value, number",
    [(2.5, 2.5), (3, 3.0), ("2.5", 2.5), (" -1e3 ", -1000.0), (-1, -1.0)],
)
def test_regression_labels_become_numbers(value, number):
    result = normalise_label(value, "regression", "f:1")
    assert result == number
    assert isinstance(result, float)


@pytest.mark.parametrize(
    "value",
    ["good", "2,5", "1_000", "nan", "inf", float("inf"), True, [1], 10**400],
)
def test_regression_needs_finite_numbers(value):
    with pytest.raises(InputError, match="f:1: expected a number"):
        normalise_label(value, "regression", "f:1")


def test_an_unknown_problem_is_named():
    with pytest.raises(InputError, match="problem: expected single_label"):
        normalise_label("a", "ranking", "f:1")


def test_examples_keep_everything_but_the_label():
    row = TextExample("t", "p", 1.0, "f:1", "id")
    (found,) = normalise_examples([row], "single_label")
    assert found == TextExample("t", "p", "1", "f:1", "id")


@pytest.mark.parametrize(
    "labels, names",
    [
        (["zebra", "apple", "mango"], ("apple", "mango", "zebra")),
        ([str(n) for n in (12, 2, 1, 11)], ("1", "2", "11", "12")),
        (["1", "-1", "0"], ("-1", "0", "1")),
        (["true", "false"], ("false", "true")),
        (["b", "10", "9", "a"], ("9", "10", "a", "b")),
        (["1", "01"], ("01", "1")),
        ([("b", "a"), (), ("c",)], ("a", "b", "c")),
        ([None, "a"], ("a",)),
        ([1.5, 2.5], ()),
        (["b", "a", "b"], ("a", "b")),
    ],
)
def test_names_have_one_order(labels, names):
    assert label_names(examples(*labels)) == names
    assert label_names(examples(*reversed(labels))) == names


@hypothesis.given(st.lists(st.text(max_size=30)), st.randoms())
@hypothesis.settings(max_examples=60, deadline=None)
def test_the_order_of_rows_does_not_matter(labels, random):
    shuffled = list(labels)
    random.shuffle(shuffled)
    assert label_names(examples(*labels)) == label_names(examples(*shuffled))


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_hash_seed_does_not_matter(hash_seed):
    code = (
        "from pipelines.data.labels import label_names\n"
        "from pipelines.data.examples import TextExample\n"
        "print(label_names([TextExample('', label=x)"
        " for x in ('zebra', 'apple', 'mango')]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "('apple', 'mango', 'zebra')"


def test_labels_that_only_another_split_knows_are_named():
    other = examples("a", "snow", "Rain", "snow")
    assert compare_label_sets(("a", "rain"), other, "test") == [
        'test: label "Rain" (once, first at f:2) is not in the training '
        'data; it counts as missed. Training has "rain".',
        'test: label "snow" (2 times, first at f:1) is not in the training '
        "data; it counts as missed.",
    ]


def test_label_sets_that_agree_give_no_message():
    assert compare_label_sets(("a", "b"), examples("a"), "test") == []


def test_multi_labels_are_compared_one_by_one():
    (message,) = compare_label_sets(("a",), examples(("a", "z")), "validation")
    assert message.startswith('validation: label "z" (once, first at f:0)')


def test_numbers_are_no_label_set():
    assert compare_label_sets((), examples(1.5, None), "test") == []
