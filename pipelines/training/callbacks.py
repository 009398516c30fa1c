"""Keras callbacks that a run is watched with, from its options."""

import importlib.util
import pathlib

import keras

from pipelines.errors import InputError
from pipelines.options import RunOptions


def log_callbacks(options: RunOptions) -> tuple[keras.callbacks.Callback, ...]:
    """What `--tensorboard` and `--csv-log` ask for.

    Args:
        options: of the recipe.

    Raises:
        InputError: if a package is missing, or the file cannot be written.
    """
    made = []
    if options.tensorboard is not None:
        made.append(_tensorboard(options.tensorboard))
    if options.csv_log is not None:
        path = pathlib.Path(options.csv_log)
        _make_empty(path, options.overwrite)
        # Each stage is a `fit` of its own, which would begin the file anew.
        made.append(keras.callbacks.CSVLogger(str(path), append=True))
    return tuple(made)


def _tensorboard(folder):
    needed = ("tensorflow", "tensorboard")
    missing = [n for n in needed if importlib.util.find_spec(n) is None]
    if missing:
        raise InputError(
            "--tensorboard: on every backend Keras writes these files with "
            "the packages tensorflow and tensorboard; not installed: "
            f"{', '.join(missing)}. Install them, or use --csv-log."
        )
    return keras.callbacks.TensorBoard(folder, write_graph=False)


def _make_empty(path, overwrite):
    if path.is_dir():
        raise InputError(f"--csv-log {path}: expected a file, found a folder.")
    if path.exists() and not overwrite:
        raise InputError(
            f"--csv-log {path}: a file stands there already; name another one "
            "or say --overwrite."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"--csv-log {path}: cannot be written ({error})."
        ) from error
