"""Text files as people have them: UTF-8, perhaps compressed, any line end."""

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import os
import pathlib
import zipfile
import zlib
from collections.abc import Iterator

from pipelines.errors import InputError

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextlib.contextmanager
def open_bytes(path) -> Iterator[io.BufferedIOBase]:
    """Opens a plain, `.gz`, `.bz2` or single-member `.zip` file to read."""
    path = pathlib.Path(path)
    if not os.path.exists(path):
        raise InputError(f"{str(path):.200}: no such file.")
    if path.is_dir():
        raise InputError(f"{path}: expected a file, found a folder.")
    suffix = path.suffix.lower()
    try:
        if suffix == ".gz":
            with gzip.open(path, "rb") as stream:
                yield stream
        elif suffix == ".bz2":
            with bz2.open(path, "rb") as stream:
                yield stream
        elif suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                members = [
                    member
                    for member in archive.infolist()
                    # macOS adds a folder of its own beside the one file.
                    if not member.filename.endswith("/")
                    and not member.filename.startswith("__MACOSX/")
                ]
                if len(members) != 1:
                    raise InputError(
                        f"{path}: expected an archive of one file, found "
                        f"{len(members)}; unpack it and name the file."
                    )
                with _open_member(path, archive, members[0]) as stream:
                    yield stream
        else:
            with open(path, "rb") as stream:
                yield stream
    except (
        EOFError,
        gzip.BadGzipFile,
        lzma.LZMAError,
        NotImplementedError,  # a zip of a version that Python lacks
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(f"{path}: damaged archive ({error}).") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error


def _open_member(path, archive, member):
    try:
        return archive.open(member)
    except (NotImplementedError, RuntimeError) as error:
        # A password, or a method of compression that Python lacks.
        raise InputError(f"{path}: cannot be unpacked ({error}).") from error


def read_lines(path) -> Iterator[tuple[int, str]]:
    r"""Yields `(line number from 1, line)` without the line end.

    Lines end with `\n` or `\r\n` only, so a U+2028 or U+0085 inside a text
    stays there. A byte-order mark at the start of any line is dropped: files
    that begin with one get concatenated.

    Raises:
        InputError: if a byte is not UTF-8, naming line and byte offset.
    """
    offset = 0
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                refuse_utf16(raw, path)
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}:{number}: expected UTF-8, found byte "
                    f"0x{raw[error.start]:02x} at offset "
                    f"{offset + error.start} of the file; save the file as "
                    "UTF-8."
                ) from error
            offset += len(raw)
            line = line.removesuffix("\n").removesuffix("\r")
            yield number, line.removeprefix("\ufeff")


def refuse_utf16(raw: bytes, source) -> None:
    """Raises InputError if the first bytes of a file are UTF-16's mark."""
    if raw.startswith(_UTF16_MARKS):
        raise InputError(
            f"{source}: expected UTF-8, found UTF-16 (by its byte-order "
            "mark); save it as UTF-8."
        )
