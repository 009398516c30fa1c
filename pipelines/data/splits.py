"""Parts of a data set, drawn at random but the same for the same seed."""

import collections
from collections.abc import Sequence

import numpy as np

from pipelines.data.examples import TextExample
from pipelines.data.stored import StoredExamples
from pipelines.errors import InputError


def stratified_split(
    examples: Sequence[TextExample], shares: Sequence[float], seed: int
) -> list[StoredExamples]:
    """Splits off one part a share, and returns the rest followed by them.

    Each class gives its share to each part as nearly as whole rows allow; what
    rounding takes from one class the next one gives, so that the parts have
    the right size even where every class is tiny. Every class keeps at least
    one row in the rest. Rows with the same text go together, lest the parts
    test what the rest has trained, unless there are too few texts for that.
    Each part keeps the rows' order.

    Args:
        examples: rows with normalised labels.
        shares: share of the rows for each part, such as `(0.1, 0.1)`.
        seed: the seed, 0 or more.

    Raises:
        InputError: if there are too few rows for a part.
    """
    if seed < 0:
        raise InputError(f"seed: expected 0 or more, found {seed}.")
    if not isinstance(examples, StoredExamples):
        examples = StoredExamples(examples)
    classes = classes_of(examples.labels)
    every_row = np.arange(len(examples))
    for groups in (_groups(examples.hashes), every_row):
        part_of = _draw(classes, groups, shares, seed)
        rows = [np.flatnonzero(part_of == n) for n in range(len(shares) + 1)]
        if all(map(len, rows)):
            return [examples.take(some) for some in rows]
    raise InputError(
        f"{len(examples)} rows are too few to split into training, validation "
        "and test data: training needs a row of every class, and each other "
        "part one more. Give more rows, or separate files (--train, "
        "--validation, --test)."
    )


def _draw(
    classes: np.ndarray, groups: np.ndarray, shares: Sequence[float], seed: int
) -> np.ndarray:
    """The part of each row: 0 for the rest; a part may have no row.

    Args:
        classes: (rows,), the number of each row's class.
        groups: (rows,), the number of the group that it stays in.
        shares, seed: as for `stratified_split`.
    """
    random = np.random.default_rng(seed)
    sizes = np.bincount(groups)
    part_of = np.zeros(len(sizes), "int8")
    wanted = [0.0] * len(shares)
    kept = []
    for stratum in _strata(classes, groups):
        rows = int(sizes[stratum].sum())
        wanted = [
            w + share * rows for w, share in zip(wanted, shares, strict=True)
        ]
        drawn = stratum[random.permutation(len(stratum))]
        for group in drawn[1:]:
            size = int(sizes[group])
            takers = (n for n, w in enumerate(wanted) if w >= size / 2)
            number = next(takers, None)
            if number is not None:
                part_of[group] = number + 1
                wanted[number] -= size
        kept.append(drawn[part_of[drawn] == 0])
    for number in range(1, len(shares) + 1):
        most = max(range(len(kept)), key=lambda i: len(kept[i]), default=None)
        if most is None or (part_of == number).any() or len(kept[most]) < 2:
            continue
        part_of[kept[most][-1]] = number
        kept[most] = kept[most][:-1]
    return part_of[groups]


def _groups(hashes: np.ndarray) -> np.ndarray:
    """Numbers rows with equal texts alike, in the order of their first."""
    _, first, group_of = np.unique(
        hashes, return_index=True, return_inverse=True
    )
    number = np.empty(len(first), "int64")
    number[np.argsort(first)] = np.arange(len(first))
    return number[group_of]


def _strata(classes: np.ndarray, groups: np.ndarray) -> list[np.ndarray]:
    """The groups of each class, the classes sorted.

    Copies of a text with different labels are a class of their own, so that
    no class is lost from the rest with them.
    """
    members = collections.defaultdict(set)
    low = np.full(groups.max(initial=-1) + 1, np.iinfo("int64").max)
    high = np.full(len(low), -1)
    np.minimum.at(low, groups, classes)
    np.maximum.at(high, groups, classes)
    is_mixed = low != high
    for row in np.flatnonzero(is_mixed[groups]):
        members[int(groups[row])].add(int(classes[row]))
    strata = collections.defaultdict(list)
    for group, names in members.items():
        strata[tuple(sorted(names))].append(group)
    pure = np.flatnonzero(~is_mixed)
    pure = pure[np.argsort(low[pure], kind="stable")]
    for some in np.split(pure, np.flatnonzero(np.diff(low[pure])) + 1):
        if len(some):
            strata[(int(low[some[0]]),)] = some
    return [np.array(strata[names]) for names in sorted(strata)]


def classes_of(labels: list) -> np.ndarray:
    """The number of each row's class: of several labels the rarest one's.

    Numbers are of no class; the classes are numbered in the order of names.
    """
    if labels and isinstance(labels[0], float):
        return np.zeros(len(labels), "int64")
    count = collections.Counter(
        name for label in labels if isinstance(label, tuple) for name in label
    )

    def name_of(label):
        if isinstance(label, tuple):
            return min(label, key=lambda name: (count[name], name), default="")
        return label if isinstance(label, str) else ""

    names = {label: name_of(label) for label in set(labels)}
    number = {name: i for i, name in enumerate(sorted(set(names.values())))}
    return np.array([number[names[label]] for label in labels], "int64")
