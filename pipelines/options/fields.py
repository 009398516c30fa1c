"""One option: its default, its help, what it may be.

The same names serve the Python call, the YAML file of `--config` and the
command line (`max_length` is `--max-length`). Nothing here imports a backend,
so that `--help` answers at once.
"""

import dataclasses
import math
import os

from pipelines.data.python_rows import FROM_PYTHON, is_from_python, source_name
from pipelines.errors import InputError

COUNT = (1, math.inf)
NOT_NEGATIVE = (0, math.inf)
LENGTH = (3, math.inf)  # [CLS], a token, [SEP]
SEED = (0, 2**32 - 1)
# The largest float below 1: rates lie in [0, 1).
RATE = (0.0, math.nextafter(1.0, 0.0))
SHARE = (0.0, 1.0)
PRECISIONS = ("float32", "bfloat16", "float16")
REQUIRED = dataclasses.MISSING
# Sources that have a name.
_NO_PATHS = ("bbc_news", "punctuation", "-")
_COLUMNS = ("text", "text_pair", "label", "word", "tag")


def option(default, help, **metadata):
    """A field of an options dataclass.

    Args:
        default: the value without the option, or `REQUIRED`.
        help: its line in `--help`.
        **metadata: `range` (smallest, largest), `choices`, `is_path` (made
            absolute in `options.yaml`), `must_exist` (see `check_sources`),
            `may_be_empty`.
    """
    return dataclasses.field(
        default=default, metadata={"help": help, **metadata}
    )


def same_option(options: type, name: str, **changes):
    """The field of another options class, but for what changes.

    Args:
        options: the dataclass that has it.
        name: the field there.
        **changes: `default`, or what `option` takes.
    """
    (field,) = (f for f in dataclasses.fields(options) if f.name == name)
    return option(**{"default": field.default, **field.metadata, **changes})


def named_columns(options) -> dict[str, str]:
    """The columns that options name: name of the option -> column."""
    return {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if field.name in _COLUMNS
        and getattr(options, field.name) != field.default
    }


def check_sources(options) -> None:
    """Looks for the files that options name, before a backend starts.

    Raises:
        InputError: if one is neither there nor known by name.
    """
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if (
            field.metadata.get("must_exist")
            and isinstance(value, str)  # else it is given in Python
            and value not in _NO_PATHS
            and not value.startswith(("tfds:", FROM_PYTHON))
            and not os.path.exists(value)
        ):
            raise InputError(
                f"--{field.name} {value:.200}: no such file or folder; "
                f"expected {field.metadata['help']}."
            )


def options_to_save(options) -> dict:
    """The values of options as `options.yaml` repeats a run with them.

    Paths become absolute, so that the file may be used from any folder; data
    that were given in Python are only named.
    """
    saved = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.metadata.get("is_path") and value is not None:
            if is_from_python(value):
                value = FROM_PYTHON + source_name(value)
            elif field.name == "output" or os.path.exists(value):
                value = os.path.abspath(value)
        saved[field.name] = value
    return saved
