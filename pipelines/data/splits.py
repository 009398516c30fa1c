"""Parts of a data set, drawn at random but the same for the same seed."""

import collections
from collections.abc import Sequence

import numpy as np

from pipelines.data.examples import TextExample
from pipelines.errors import InputError


def stratified_split(
    examples: Sequence[TextExample], shares: Sequence[float], seed: int
) -> list[list[TextExample]]:
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
    for together in (True, False):
        drawn = _draw(_strata(examples, together), shares, seed)
        if all(drawn):
            return [[examples[row] for row in sorted(rows)] for rows in drawn]
    raise InputError(
        f"{len(examples)} rows are too few to split into training, validation "
        "and test data: training needs a row of every class, and each other "
        "part one more. Give more rows, or separate files (--train, "
        "--validation, --test)."
    )


def _draw(
    strata: list[list[list[int]]], shares: Sequence[float], seed: int
) -> list[list[int]]:
    """Row numbers of the rest and of each part; a part may be empty."""
    random = np.random.default_rng(seed)
    parts = [[] for _ in shares]
    wanted = [0.0] * len(shares)
    rest = []
    for groups in strata:
        rows = sum(len(group) for group in groups)
        wanted = [
            w + share * rows for w, share in zip(wanted, shares, strict=True)
        ]
        first, *others = [groups[i] for i in random.permutation(len(groups))]
        kept = [first]
        for group in others:
            takers = (n for n, w in enumerate(wanted) if w >= len(group) / 2)
            number = next(takers, None)
            if number is None:
                kept.append(group)
            else:
                parts[number] += group
                wanted[number] -= len(group)
        rest.append(kept)
    for part in parts:
        largest = max(rest, key=len, default=[])
        if not part and len(largest) > 1:
            part += largest.pop()
    return [[row for pool in rest for group in pool for row in group], *parts]


def _strata(
    examples: Sequence[TextExample], together: bool
) -> list[list[list[int]]]:
    """Row numbers by class, and within a class by equal texts if together."""
    groups = collections.defaultdict(list)
    for row, example in enumerate(examples):
        key = (example.text, example.text_pair) if together else row
        groups[key].append(row)
    keys = _keys(examples)
    strata = collections.defaultdict(list)
    for rows in groups.values():
        # Copies of a text with different labels are a class of their own, so
        # that no class is lost from the rest with them.
        strata[tuple(sorted({keys[row] for row in rows}))].append(rows)
    return [strata[key] for key in sorted(strata)]


def _keys(examples: Sequence[TextExample]) -> list[str]:
    """The class of each row: of several labels the rarest, of numbers none."""
    count = collections.Counter(
        name
        for example in examples
        if isinstance(example.label, tuple)
        for name in example.label
    )
    keys = []
    for example in examples:
        label = example.label
        if isinstance(label, tuple):
            label = min(label, key=lambda name: (count[name], name), default="")
        keys.append(label if isinstance(label, str) else "")
    return keys
