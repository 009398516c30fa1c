"""Which examples an epoch has."""

import numpy as np


def draw_rows(
    num_rows: int, classes: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
    """The rows of an epoch: each once, or as many of each class.

    Args:
        num_rows: int.
        classes: int array (rows,), the class of each, of which there are to
            be equally many; None takes each row once. A row of a rare class
            comes several times, a row of a frequent one not in every epoch.
        generator: draws what is taken once more or left out.

    Returns:
        int array, always of the same size.
    """
    if classes is None:
        return np.arange(num_rows)
    names = np.unique(classes)
    wanted = max(1, round(num_rows / len(names)))
    drawn = []
    for name in names:
        own = np.flatnonzero(classes == name)
        times, more = divmod(wanted, len(own))
        drawn += [np.tile(own, times), generator.permutation(own)[:more]]
    return np.concatenate(drawn)
