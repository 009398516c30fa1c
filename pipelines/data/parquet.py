"""Parquet files."""

import io
import json
import pathlib
from collections.abc import Iterator

from pipelines.data.arrow_rows import (
    arrow_errors,
    class_names,
    decode_rows,
    require_pyarrow,
)
from pipelines.data.columns import choose_columns, example_from
from pipelines.data.examples import TextExample
from pipelines.data.text_files import open_bytes
from pipelines.errors import InputError

_BATCH = 1024


def read_parquet(
    path,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
) -> Iterator[TextExample]:
    """Yields the rows of a Parquet file, one batch in memory at a time.

    Only the columns in use are read. Class names that Hugging Face `datasets`
    stored in the file are used; its class id -1 is a missing label. (A
    Parquet file inside gz, bz2 or zip is unpacked into memory: its index
    stands at the end.)

    Args and errors: as for `pipelines.data.csv_files.read_csv`; rows count
    from 1.
    """
    require_pyarrow(path)
    import pyarrow.parquet

    path = pathlib.Path(path)
    with (
        open_bytes(path) as stream,
        arrow_errors(path, "a Parquet file"),
    ):
        if path.suffix.lower() in (".gz", ".bz2", ".zip"):
            stream = io.BytesIO(stream.read())
        file = pyarrow.parquet.ParquetFile(stream)
        schema = file.schema_arrow
        columns = choose_columns(
            schema.names, str(path), text, text_pair, label, labelled
        )
        batches = file.iter_batches(_BATCH, columns=columns.names())
        names = class_names(_hugging_face_features(schema, path))
        for where, row in decode_rows(batches, names, str(path)):
            yield example_from(row, columns, where)


def _hugging_face_features(schema, path) -> dict:
    note = (schema.metadata or {}).get(b"huggingface")
    if note is None:
        return {}
    try:
        return json.loads(note)["info"]["features"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: the class names that Hugging Face datasets stored in the "
            f"file are broken ({error}); write the file again."
        ) from error
