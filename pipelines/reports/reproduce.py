"""What it takes to repeat a run: its command and the versions it ran with."""

import dataclasses
import importlib.metadata
import platform
import shlex

from pipelines.data.python_rows import is_from_python

# Where the model and its logs lie is no part of how it came to be.
_PLACE = ("output", "overwrite", "tensorboard", "csv_log")
_PACKAGES = ("keras-encoder", "keras", "numpy", "tokenizers")


def command(task: str, backend: str, options) -> str:
    """The command line of a run, with the options that are not the default.

    Args:
        task: `classify`, `tag` or `pretrain`.
        backend: of Keras.
        options: dataclass of the recipe; data given in Python are left out.
    """
    words = [f"KERAS_BACKEND={backend}", "keras-encoder", task]
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name in _PLACE or _is_default(value, field):
            continue
        name = field.name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        elif field.metadata.get("is_path") and is_from_python(value):
            continue
        else:
            words += [f"--{name}", shlex.quote(_text(value))]
    return " ".join(words)


def given_in_python(options) -> list[str]:
    """Names of the options whose value no command line can hold."""
    return [
        field.name
        for field in dataclasses.fields(options)
        if field.metadata.get("is_path")
        and (value := getattr(options, field.name)) is not None
        and is_from_python(value)
    ]


def versions(backend: str) -> dict[str, str]:
    """Versions of Python and of what computes, by name."""
    found = {"python": platform.python_version()}
    for name in (*_PACKAGES, backend):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # another distribution has it, as tensorflow-cpu
    return found


def _is_default(value, field):
    # A data frame would compare itself cell by cell.
    return type(value) is type(field.default) and value == field.default


def _text(value):
    return "none" if value is None else str(value)
