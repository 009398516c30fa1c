"""A folder with one sub-folder a class and one text a file."""

import codecs
import pathlib
from collections.abc import Iterator

from pipelines.data.examples import TextExample
from pipelines.data.text_files import open_bytes
from pipelines.errors import InputError

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_class_folders(path) -> Iterator[TextExample]:
    """Yields one example a file, labelled with its folder's name.

    Folders and files come in sorted order; hidden ones are left out. Every
    other file is a text (plain, gz, bz2 or zip), whatever its suffix.

    Raises:
        InputError: if there is no class folder, a class folder holds no file
            or another folder, or a file is not UTF-8.
    """
    path = pathlib.Path(path)
    folders = [entry for entry in visible_entries(path) if entry.is_dir()]
    if not folders:
        raise InputError(
            f"{path}: expected one sub-folder a class, found no sub-folder."
        )
    for folder in folders:
        files = visible_entries(folder)
        if not files:
            raise InputError(
                f"{folder}: expected the text files of class "
                f'"{folder.name}", found an empty folder; remove it.'
            )
        for file in files:
            if file.is_dir():
                raise InputError(
                    f"{file}: expected text files in the folder of class "
                    f'"{folder.name}", found a folder; classes have one level.'
                )
            yield TextExample(
                text=_read_text(file), label=folder.name, where=str(file)
            )


def visible_entries(path: pathlib.Path) -> list[pathlib.Path]:
    """Files and folders in sorted order, without hidden ones."""
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    return [e for e in entries if e.name[0] not in "." and e.name != "__MACOSX"]


def _read_text(file: pathlib.Path) -> str:
    with open_bytes(file) as stream:
        raw = stream.read()
    if raw.startswith(_UTF16_MARKS):
        raise InputError(
            f"{file}: expected UTF-8, found UTF-16 (by its byte-order mark); "
            "save the file as UTF-8."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: expected UTF-8, found byte "
            f"0x{error.object[error.start]:02x} at offset {error.start} of "
            "the file; save the file as UTF-8."
        ) from error
