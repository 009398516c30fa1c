"""Temporary files for what would not fit into memory.

They have no name, stand where Python's `tempfile` puts them (`--cache-dir` or
`TMPDIR` chooses another disk) and go with the objects that use them.
"""

import array
import contextlib
import marshal
import math
import os
import pathlib
import tempfile
import threading
import weakref

import numpy as np

from pipelines.errors import InputError, RunFailed

# What is smaller than this stays in memory: of texts and tokens, which are
# written bit by bit, and of arrays, which are used over and over.
_SMALL, _SMALL_ARRAY = 1 << 22, 1 << 28


@contextlib.contextmanager
def scratch_folder(folder: str | None):
    """Puts the files of this context into a folder, which is made.

    Args:
        folder: None for the folder of Python's `tempfile`.

    Raises:
        InputError: if nothing can be written there.
    """
    before = tempfile.tempdir
    if folder is not None:
        try:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InputError(
                f"--cache-dir {folder}: expected a folder to write to "
                f"({error})."
            ) from error
        tempfile.tempdir = os.path.abspath(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


class Scratch:
    """Bytes that are written end to end and read back in pieces."""

    def __init__(self):
        self._file = tempfile.SpooledTemporaryFile(max_size=_SMALL)
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self.size = 0

    def append(self, raw) -> int:
        """Writes bytes and returns where they stand.

        Raises:
            RunFailed: if the disk is full.
        """
        place = self.size
        with self._lock, _full_disk():
            self._file.seek(place)
            self._file.write(raw)
        self.size += len(raw)
        return place

    def read(self, place: int, size: int) -> bytes:
        """Returns `size` bytes from `place` on."""
        with self._lock:
            self._file.seek(place)
            return self._file.read(size)


class ScratchArray:
    """A flat array in a `Scratch`; slices of it are read when asked for.

    Args:
        dtype: of the items.
    """

    def __init__(self, dtype: str):
        self.dtype = np.dtype(dtype)
        self._scratch = Scratch()

    def append(self, values: np.ndarray):
        """Writes a flat array behind what is there."""
        self._scratch.append(values.astype(self.dtype, copy=False).tobytes())

    def __len__(self):
        return self._scratch.size // self.dtype.itemsize

    @property
    def shape(self) -> tuple[int]:
        """As NumPy has it."""
        return (len(self),)

    def __getitem__(self, part: slice) -> np.ndarray:
        start, stop, _ = part.indices(len(self))
        size = self.dtype.itemsize
        raw = self._scratch.read(start * size, (stop - start) * size)
        return np.frombuffer(raw, self.dtype)


class ScratchRecords:
    """Tuples in a `Scratch`, read back one at a time.

    In memory there are 16 bytes a record: where it stands.
    """

    def __init__(self):
        self._scratch = Scratch()
        self._starts, self._ends = array.array("q"), array.array("q")

    def append(self, record: tuple):
        """Writes a tuple of strings, numbers, None and such tuples."""
        self._starts.append(self._scratch.append(marshal.dumps(record)))
        self._ends.append(self._scratch.size)

    def take(self, rows: np.ndarray) -> "ScratchRecords":
        """Some of the records, in the same file; to be read alone."""
        part = object.__new__(ScratchRecords)
        part._scratch = self._scratch
        part._starts = np.array(self._starts, "int64")[rows]
        part._ends = np.array(self._ends, "int64")[rows]
        return part

    def __len__(self):
        return len(self._starts)

    def __getitem__(self, row: int) -> tuple:
        start = int(self._starts[row])
        raw = self._scratch.read(start, int(self._ends[row]) - start)
        return marshal.loads(raw)


def empty_array(shape: tuple[int, ...]) -> np.ndarray:
    """A float32 array to be filled, on disk where it is large.

    Raises:
        RunFailed: if the disk is full.
    """
    size = 4 * math.prod(shape)
    if size < _SMALL_ARRAY:
        return np.empty(shape, "float32")
    with tempfile.TemporaryFile() as file, _full_disk():
        if hasattr(os, "posix_fallocate"):
            # A disk that fills up later would end the process.
            os.posix_fallocate(file.fileno(), 0, size)
        mapped = np.memmap(file, "float32", "w+", shape=shape)
        return mapped.view(np.ndarray)


def where_kept(arrays: list[np.ndarray]) -> str:
    """`12.3 MB in memory`: the size of arrays from `empty_array`."""
    size = sum(array.nbytes for array in arrays)
    on_disk = any(array.nbytes >= _SMALL_ARRAY for array in arrays)
    place = f"on disk in {tempfile.gettempdir()}" if on_disk else "in memory"
    return f"{size / 1e6:,.1f} MB {place}"


@contextlib.contextmanager
def _full_disk():
    try:
        yield
    except OSError as error:
        raise RunFailed(
            f"{tempfile.gettempdir()}: no room for the data of this run "
            f"({error}); name a folder on a larger disk with --cache-dir or "
            "the environment variable TMPDIR."
        ) from error
