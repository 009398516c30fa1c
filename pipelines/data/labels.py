"""Labels as people write them -> names, sets of names, or numbers."""

import collections
import dataclasses
import decimal
import math
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pipelines.data.examples import TextExample
from pipelines.data.stored import labels_of
from pipelines.errors import InputError

PROBLEMS = ("single_label", "multi_label", "regression")

# At most 18 digits: longer runs are names, not numbers, and would be slow.
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(
    r"[+-]?(([0-9]{1,18}\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
    r"|[0-9]{1,18}[eE]-[0-9]{1,3})"  # 1e5 may be a name
)


def normalise_label(
    value, problem: str, where: str, unlabelled: bool = False
) -> str | tuple[str, ...] | float | None:
    """Turns a raw label into what models are trained on.

    - `single_label`: a name. 1, 1.0, "1" and "1.0" are one name, "01" is
      another; booleans are "false" and "true"; blanks around are dropped.
    - `multi_label`: a tuple of names, from a list or `"a|b"`. An empty list
      and an empty cell mean that no label applies.
    - `regression`: a finite float.

    Args:
        value: str, int, float, bool, list or None.
        problem: one of the three.
        where: the place to name in messages.
        unlabelled: whether a missing label, null or -1 gives None instead of
            an error.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if problem == "multi_label" and value == "":
        return ()
    if _is_missing(value) or (unlabelled and is_minus_one(value)):
        if unlabelled:
            return None
        raise InputError(
            f"{where}: no label (null or empty); give the row a label, remove "
            "it, or say --skip-unlabelled."
        )
    if problem == "single_label":
        return _name(value, where)
    if problem == "multi_label":
        return _names(value, where)
    if problem == "regression":
        return _number(value, where)
    raise InputError(
        f"problem: expected {', '.join(PROBLEMS)}; found {problem!r}."
    )


def normalise_examples(
    examples: Iterable[TextExample], problem: str, unlabelled: bool = False
) -> Iterator[TextExample]:
    """Yields the examples with their labels normalised."""
    for example in examples:
        label = normalise_label(
            example.label, problem, example.where, unlabelled
        )
        yield dataclasses.replace(example, label=label)


def label_names(examples: Sequence[TextExample]) -> tuple[str, ...]:
    """All names, numbers first in numeric order, the others sorted.

    The order depends on the names alone, not on the order of the examples.
    """
    return order_names(
        {name for label in labels_of(examples) for name in names_in(label)}
    )


def order_names(names: Iterable[str]) -> tuple[str, ...]:
    """Whole numbers first, in numeric order, then the others, sorted."""
    return tuple(sorted(names, key=_order))


def compare_label_sets(
    train_names: Iterable[str],
    other_examples: Iterable[TextExample],
    split_name: str,
) -> list[str]:
    """Messages for the labels of another split that training does not know."""
    pairs = (
        (e.where, name) for e in other_examples for name in names_in(e.label)
    )
    return compare_names(train_names, pairs, split_name)


def compare_names(
    train_names: Iterable[str],
    found: Iterable[tuple[str, str]],
    split_name: str,
) -> list[str]:
    """Messages for names, given as (where, name), that training lacks."""
    known = set(train_names)
    count, first = collections.Counter(), {}
    for where, name in found:
        if name not in known:
            count[name] += 1
            first.setdefault(name, where)
    messages = []
    for name in order_names(count):
        times = "once" if count[name] == 1 else f"{count[name]} times"
        messages.append(
            f'{split_name}: label "{name}" ({times}, first at {first[name]}) '
            "is not in the training data; it counts as missed."
            + _near(name, known)
        )
    return messages


def names_in(label) -> tuple[str, ...]:
    """The names in a normalised label; a number has none."""
    if isinstance(label, str):
        return (label,)
    return label if isinstance(label, tuple) else ()


def _order(name: str) -> tuple:
    if _INTEGER.fullmatch(name):
        return (0, int(name), name)
    return (1, 0, name)


def _near(name: str, known: set[str]) -> str:
    for other in sorted(known):
        if other.lower() == name.lower():
            return f' Training has "{other}".'
    return ""


def _is_missing(value) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_minus_one(value) -> bool:
    """Whether a raw label is -1, however it is written."""
    if isinstance(value, str):
        return value.strip() in ("-1", "-1.0")
    return isinstance(value, int | float) and value == -1


def _name(value, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        value = value.strip()
        if not _DECIMAL.fullmatch(value):
            return value
        number = decimal.Decimal(value)
        if number == number.to_integral_value():
            return str(int(number))
    elif isinstance(value, int):
        return str(value)
    elif isinstance(value, float):
        if value.is_integer():
            return str(int(value))
    elif isinstance(value, list | tuple):
        raise InputError(
            f"{where}: expected one label, found the list {value!r:.60}; for "
            "several labels a text say --problem multi_label."
        )
    else:
        raise InputError(
            f"{where}: expected a label (a name or a whole number), found "
            f"{type(value).__name__} {value!r:.40}."
        )
    raise InputError(
        f"{where}: expected a class, found the number {value}; to predict "
        "numbers say --problem regression."
    )


def _names(value, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split("|")
    elif not isinstance(value, list | tuple):
        value = [value]
    if any(_is_missing(item) for item in value):
        raise InputError(
            f"{where}: expected names of labels (a list, or a|b), found an "
            f"empty name in {value!r:.60}."
        )
    names = tuple(_name(item, where) for item in value)
    if len(set(names)) < len(names):
        raise InputError(
            f"{where}: expected each label once, found {value!r:.60}; give "
            "the names of the labels that apply, not a row of 0 and 1."
        )
    return names


def _number(value, where: str) -> float:
    try:
        if isinstance(value, bool | list | tuple):
            raise ValueError
        # float() would also take "1_000".
        number = float(
            value.replace("_", "?") if isinstance(value, str) else value
        )
        if math.isfinite(number):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(
        f"{where}: expected a number as the label (--problem regression), "
        f"found {value!r:.60}."
    )
