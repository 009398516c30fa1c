"""JSON lines with `tokens` and `tags`."""

from collections.abc import Iterator

from pipelines.data.examples import TaggedExample
from pipelines.data.jsonl import read_objects
from pipelines.data.tagged.records import examples_from_records
from pipelines.errors import InputError


def read_tagged_jsonl(
    path, tokens: str = "tokens", tags: str | None = "tags"
) -> Iterator[TaggedExample]:
    """Reads one sentence a line: its words and their tags, lists of strings.

    The other fields that are read, `text`, `document` and `id`, are those of
    `examples_from_records`. Blank lines are skipped.

    Args:
        path: the file, plain or compressed.
        tokens: field of the words.
        tags: field of the tags; None reads words only.

    Raises:
        InputError: naming file and line of a record that is not as above, or
            if the file has no record.
    """
    records = ((f"{path}:{n}", record) for n, record in read_objects(path))
    example = None
    for example in examples_from_records(records, tokens, tags):
        yield example
    if example is None:
        raise InputError(
            f"{path}: expected JSON lines with {tokens!r}, found no sentences."
        )
