"""Options of a dataclass from a command line or a YAML file, checked."""

import argparse
import contextlib
import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Iterable

from pipelines.errors import InputError

_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
}


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line as an InputError, with the nearest name."""

    def __init__(self, *args, **kwargs):
        # An abbreviation could change its meaning with the next option.
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def parse_args(self, args=None, namespace=None):
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            name = unknown[0].split("=")[0]
            known = self._options_of(getattr(parsed, "command", None))
            raise InputError(f"unknown option {name}.{nearest(name, known)}")
        return parsed

    def error(self, message):
        raise InputError(message + f" (see {self.prog} --help)")

    def _check_value(self, action, value):
        # Only the command has choices here; ours names the nearest.
        if action.choices is not None and value not in action.choices:
            raise InputError(
                f"unknown command {value!r}; expected "
                f"{', '.join(action.choices)}.{nearest(value, action.choices)}"
            )

    def _options_of(self, command):
        options = []
        for action in self._actions:
            options += action.option_strings
            if isinstance(action.choices, dict) and command in action.choices:
                options += action.choices[command]._options_of(None)
        return options


def add_options(parser: argparse.ArgumentParser, options: type):
    """Adds `--name` for each field; what is not given leaves no trace."""
    for field in dataclasses.fields(options):
        _add_option(parser, field)


def read_config_file(path: str, options: type) -> dict:
    """Reads a YAML file of options and checks names and values.

    Args:
        path: of the file.
        options: dataclass of the recipe's options.

    Raises:
        InputError: naming the file and the key.
    """
    import yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            content = yaml.safe_load(file) or {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(
            f"--config {path}: cannot be read as YAML ({error})."
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"--config {path}: expected `option: value` lines.")
    fields = {field.name: field for field in dataclasses.fields(options)}
    found = {}
    for key, value in content.items():
        name = str(key).replace("-", "_")
        if name not in fields:
            raise InputError(
                f"--config {path}: unknown option {key!r}."
                + nearest(name, fields)
            )
        where = f"--config {path}: {key}"
        found[name] = check_value(value, fields[name], where)
    return found


def convert_text(text: str, field: dataclasses.Field):
    """Reads an option of the command line, checked like `check_value`."""
    kind, optional = _kind(field.type)
    # Of text, "none" is a value: the name of a column, or what to classify.
    if optional and kind is not str and text.lower() in ("none", ""):
        return None
    try:
        value = kind(text)
    except ValueError:
        value = text  # refused below, with the text as found
    return check_value(value, field, flag(field.name))


def check_value(value, field: dataclasses.Field, where: str):
    """Returns the value in the kind of the field.

    Raises:
        InputError: if it has another kind, or is out of range.
    """
    kind, optional = _kind(field.type)
    if value is None and optional:
        return None
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and (is_whole or isinstance(value, str)):
        with contextlib.suppress(ValueError):
            value = float(value)  # YAML reads 2e-5 as text
    # An empty text is most often a shell variable that was never set.
    is_empty = value == "" and not field.metadata.get("may_be_empty")
    # A bool is an int to Python.
    if (
        type(value) is not kind
        or is_empty
        or (kind is float and not math.isfinite(value))
    ):
        raise InputError(f"{where}: expected {_NAMES[kind]}, found {value!r}.")
    choices = field.metadata.get("choices")
    if choices and value not in choices:
        raise InputError(
            f"{where}: expected {', '.join(choices)}; found {value!r}."
            + nearest(str(value), choices)
        )
    low, high = field.metadata.get("range", (None, None))
    if low is not None and not low <= value <= high:
        span = (
            f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
        )
        raise InputError(f"{where}: expected {span}, found {value!r}.")
    return value


def flag(name: str) -> str:
    """`max_length` -> `--max-length`."""
    return "--" + name.replace("_", "-")


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean X?`, or nothing where no name is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _add_option(parser, field):
    kind, _ = _kind(field.type)
    name, default = flag(field.name), field.default
    text = field.metadata["help"].replace("%", "%%")
    has_default = default not in (None, dataclasses.MISSING)
    if kind is bool:
        parser.add_argument(
            name,
            action=argparse.BooleanOptionalAction,
            default=argparse.SUPPRESS,
            help=text,
        )
        return

    choices = field.metadata.get("choices")
    parser.add_argument(
        name,
        default=argparse.SUPPRESS,
        metavar="|".join(choices) if choices else kind.__name__.upper(),
        help=f"{text} (default: {default})" if has_default else text,
    )


def _kind(annotation):
    """`int | None` -> (int, True)."""
    if isinstance(annotation, types.UnionType):
        kinds = [k for k in typing.get_args(annotation) if k is not type(None)]
        return kinds[0], True
    return annotation, False
