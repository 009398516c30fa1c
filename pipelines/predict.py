"""Labels for new texts, in their order, as JSON lines."""

import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator

from pipelines.classification.decisions import with_abstention
from pipelines.classification.texts import text_results
from pipelines.data.columns import MissingColumn
from pipelines.data.examples import TaggedExample, TextExample, in_chunks
from pipelines.data.jsonl import parse_object
from pipelines.data.layouts import data_suffix
from pipelines.data.readers import read_examples
from pipelines.data.tagged.conll import read_conll
from pipelines.data.tagged.conllu import read_conllu
from pipelines.data.text_files import read_lines, refuse_utf16
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned, read_model_folder
from pipelines.options import PredictOptions
from pipelines.outputs import new_file
from pipelines.pretraining.fill_mask import mask_results
from pipelines.tagging.sentences import sentence_results

_STANDARD_INPUT = "standard input"


def predict(options: PredictOptions) -> None:
    """Runs the recipe: writes one JSON object a text.

    Args:
        options: see `PredictOptions`.

    Raises:
        InputError: if an option or the input is wrong.
    """
    if (options.text is None) == (options.input is None):
        raise InputError("Give either --text or --input.")
    if options.output is None:
        for result in _results(options):
            print(json.dumps(result, ensure_ascii=False), flush=True)
        return
    with new_file(options.output) as file:
        for result in _results(options):
            file.write(json.dumps(result, ensure_ascii=False) + "\n")


def _results(options):
    if options.input not in (None, "-") and not os.path.exists(options.input):
        raise InputError(f"--input {options.input}: no such file.")
    fine_tuned = read_model_folder(options.model)
    settings = with_abstention(fine_tuned.settings, options.abstain_below)
    fine_tuned = dataclasses.replace(fine_tuned, settings=settings)
    examples = _read(options, settings.get("columns", {}))
    yield from predict_stream(
        fine_tuned, examples, options.batch_size, options.aggregation
    )


def predict_stream(
    fine_tuned: FineTuned,
    examples: Iterable[TextExample | TaggedExample],
    batch_size: int = 32,
    aggregation: str = "first",
) -> Iterator[dict]:
    """Yields a result for each example, in order.

    Args:
        fine_tuned: from `read_model_folder`.
        examples: any iterable; it is read in chunks.
        batch_size: texts a step.
        aggregation: of a tagger, as in `find_entities`.
    """
    whole_documents = fine_tuned.settings.get("document_context", False)
    for chunk in in_chunks(examples, whole_documents):
        for example in chunk:
            _check_kind(example, fine_tuned)
        yield from _predict_chunk(fine_tuned, chunk, batch_size, aggregation)


def _check_kind(example, fine_tuned):
    task = fine_tuned.settings["task"]
    if task == "tag" and getattr(example, "text_pair", None) is not None:
        raise InputError(f'{example.where}: a tagger reads no "text_pair".')
    if task == "pretrain" and getattr(example, "text_pair", None) is not None:
        raise InputError(f'{example.where}: a masked LM reads no "text_pair".')
    if task != "tag" and isinstance(example, TaggedExample):
        kind = "classifier" if task == "classify" else "masked LM"
        raise InputError(
            f'{example.where}: expected "text", found "tokens"; the model is '
            f"a {kind}."
        )


def _predict_chunk(fine_tuned, chunk, batch_size, aggregation):
    if fine_tuned.settings["task"] == "tag":
        results = sentence_results(fine_tuned, chunk, batch_size, aggregation)
    elif fine_tuned.settings["task"] == "pretrain":
        results = mask_results(fine_tuned, chunk, batch_size)
    else:
        results = text_results(fine_tuned, chunk, batch_size)
    for example, result in zip(chunk, results, strict=True):
        if example.id is not None:
            result = {"id": example.id, **result}
        yield result


def _read(options, learned) -> Iterator[TextExample | TaggedExample]:
    if options.text is not None:
        text = _as_utf8(options.text)
        return iter([TextExample(text, where="--text")])
    if options.input == "-":
        lines = enumerate(_standard_input(), start=1)
        return _from_lines(lines, _STANDARD_INPUT)
    suffix = data_suffix(options.input)
    if suffix in (".csv", ".tsv", ".parquet"):
        return _from_table(options.input, learned)
    if suffix == ".conllu":
        return read_conllu(options.input, tag=None)
    if suffix in (".conll", ".bio", ".iob", ".iob2", ".bioes"):
        return read_conll(options.input, tag=None)
    as_json = True if suffix in (".jsonl", ".ndjson", ".json") else None
    return _from_lines(read_lines(options.input), options.input, as_json)


def _from_table(path, learned) -> Iterator[TextExample]:
    """Rows of the columns that the model learned from, or of usual names."""
    names = {n: c for n, c in learned.items() if n in ("text", "text_pair")}
    rows = read_examples(path, **names, labelled=False)
    try:
        first = [*itertools.islice(rows, 1)]
    except MissingColumn:
        return read_examples(path, labelled=False)
    return itertools.chain(first, rows)


def _as_utf8(text):
    """What the shell passed on, where Python took it for another encoding."""
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeEncodeError:  # not from the shell
        pass
    except UnicodeDecodeError as error:
        raise InputError(
            f"--text: expected UTF-8, found byte "
            f"0x{error.object[error.start]:02x}."
        ) from error
    try:
        return text.encode("utf-8").decode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"--text: expected UTF-8, found {error.object[error.start]!a}."
        ) from error


def _standard_input():
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        if number == 1:
            refuse_utf16(raw, _STANDARD_INPUT)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{_STANDARD_INPUT}:{number}: expected UTF-8, found byte "
                f"0x{raw[error.start]:02x}."
            ) from error
        line = line.removesuffix("\n").removesuffix("\r")
        yield line.removeprefix("\ufeff")


def _from_lines(
    lines, source, as_json: bool | None = None
) -> Iterator[TextExample | TaggedExample]:
    """JSON objects if the first text is one, else each line is a text.

    A blank line among plain texts is an empty text, so that every input line
    has its output; among JSON objects it is nothing. Neighbouring objects
    with the same `document` are one document, any other is one of its own.
    """
    blank = []
    document, last = 0, None
    for number, line in lines:
        where = f"{source}:{number}"
        if as_json is None and not line.strip():
            blank.append(TextExample(line, where=where))
            continue
        if as_json is None:
            as_json = line.lstrip().startswith("{")
            yield from () if as_json else blank
        if not as_json:
            yield TextExample(line, where=where)
        elif line.strip():
            row = parse_object(line, where, mend=True)
            name = row.get("document")
            document += name is None or name != last
            last = name
            yield _from_object(row, where, document)
    if as_json is None:
        yield from blank


def _from_object(row, where, document) -> TextExample | TaggedExample:
    if "tokens" in row:
        return _from_tokens(row, where, document)
    for name in ("text", "text_pair"):
        value = row.get(name)
        if not isinstance(value, str) and (name == "text" or value is not None):
            raise InputError(
                f'{where}: expected "{name}" to be a string, found '
                f"{json.dumps(value, ensure_ascii=False):.60}."
            )
    return TextExample(
        row["text"], row.get("text_pair"), where=where, id=row.get("id")
    )


def _from_tokens(row, where, document) -> TaggedExample:
    tokens = row["tokens"]
    if not isinstance(tokens, list) or not all(
        isinstance(token, str) for token in tokens
    ):
        raise InputError(
            f'{where}: expected "tokens" to be a list of strings, found '
            f"{json.dumps(tokens, ensure_ascii=False):.60}."
        )
    return TaggedExample(
        tuple(tokens), where=where, document=document, id=row.get("id")
    )
