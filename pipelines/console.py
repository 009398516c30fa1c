"""What a person sees while a recipe runs: lines and bars on stderr."""

import sys

import tqdm


def say(*lines: str):
    """Prints lines on stderr; stdout is for results."""
    for line in lines:
        tqdm.tqdm.write(line, file=sys.stderr)


class Progress:
    """A bar on a terminal, nothing in a log file.

    Args:
        title: what is being done.
        total: number of units, or None if not known.
    """

    def __init__(self, title: str, total: int | None):
        self._bar = tqdm.tqdm(
            total=total,
            desc=title,
            file=sys.stderr,
            leave=False,
            disable=None,
            dynamic_ncols=True,
        )

    def add(self, units: int = 1):
        """Moves the bar on."""
        self._bar.update(units)

    def close(self):
        """Removes the bar."""
        self._bar.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
