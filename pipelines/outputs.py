"""Nothing half-written, nothing lost: files and folders appear when whole."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from pipelines.errors import InputError

# A folder with this file is a model of ours, which may be replaced.
SETTINGS = "keras_encoder.json"


def choose_output(output: str | None, overwrite: bool, task: str):
    """The folder that a run will write, checked before anything is done.

    Raises:
        InputError: if something stands there that must not be replaced.
    """
    if output is None:
        numbers = range(1, 100_000)
        paths = (pathlib.Path("runs") / f"{task}-{n}" for n in numbers)
        return next(path for path in paths if not path.exists())
    path = pathlib.Path(output)
    if path.is_file():
        raise InputError(f"--output {path}: expected a folder, found a file.")
    if path.is_dir() and any(path.iterdir()):
        if not (path / SETTINGS).exists():
            raise InputError(
                f"--output {path}: is a folder with other content; name a new "
                "one."
            )
        if not overwrite:
            raise InputError(
                f"--output {path}: a model stands there already; name another "
                "folder or say --overwrite."
            )
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"--output {path}: {parent} is a file, not a folder.")
    if not os.access(parent, os.W_OK):
        raise InputError(f"--output {path}: {parent} cannot be written.")
    return path


@contextlib.contextmanager
def new_folder(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a folder beside `path` that takes its place when all went well.

    An exception or Ctrl-C inside leaves whatever stood at `path` untouched
    and nothing else behind.
    """
    path = path.resolve()  # a link stays a link
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path(
        tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent)
    )
    old = scratch.with_name(scratch.name + "-old")
    try:
        yield scratch
        scratch.chmod(0o755)  # mkdtemp makes it private
        if path.exists():
            path.rename(old)
        scratch.rename(path)
    finally:
        if old.exists() and not path.exists():
            old.rename(path)
        for leftover in (old, scratch):
            shutil.rmtree(leftover, ignore_errors=True)


# The name of a file that is no UTF-8 comes out as JSON's escapes of its bytes.
_TEXT = {"encoding": "utf-8", "newline": "\n", "errors": "backslashreplace"}


@contextlib.contextmanager
def new_file(path: str, option: str = "--output") -> Iterator[io.TextIOBase]:
    """Yields a UTF-8 file beside `path` that takes its place when closed.

    Args:
        path: of the file.
        option: that named it, for messages.

    Raises:
        InputError: if the folder of `path` cannot be written.
    """
    target = pathlib.Path(path)
    if target.is_dir():
        raise InputError(f"{option} {path}: expected a file, found a folder.")
    if target.exists() and not target.is_file():  # a pipe or device
        with open(target, "w", **_TEXT) as file:
            yield file
        return
    target = target.resolve()  # a link stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(
            prefix=f".{target.name}-", dir=target.parent
        )
    except OSError as error:
        raise InputError(
            f"{option} {path}: cannot be written ({error})."
        ) from error
    try:
        with open(handle, "w", **_TEXT) as file:
            yield file
        os.chmod(scratch, 0o644)
        os.replace(scratch, target)
    finally:
        pathlib.Path(scratch).unlink(missing_ok=True)
