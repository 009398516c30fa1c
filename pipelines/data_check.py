"""The data report alone, for data of either task.

keras-encoder data mine.csv --label topic
keras-encoder data train.conll dev.conll test.conll
"""

import itertools
import json
import os
import pathlib

from pipelines.data.class_folders import visible_entries
from pipelines.data.hf_disk import hf_splits, is_hf_disk, read_hf_rows
from pipelines.data.jsonl import read_objects
from pipelines.data.layouts import data_suffix
from pipelines.data.tagged.reading import (
    CONLL_SUFFIXES,
    PUNCTUATION,
    looks_tagged,
)
from pipelines.data.text_files import read_lines
from pipelines.data.tfds import feature_names
from pipelines.errors import InputError
from pipelines.options import ClassifyOptions, DataOptions, TagOptions

_TEXT_OPTIONS = (
    *("text", "text_pair", "label", "problem", "skip_unlabelled"),
    *("windows", "stride"),
)
_TAG_OPTIONS = ("word", "tag")
_SHARED = (
    *("data", "train", "validation", "test", "data_dir", "cache_dir"),
    *("encoder", "max_length", "seed"),
)


def data(options: DataOptions) -> dict:
    """Runs the recipe: prints the report, as JSON on standard output.

    Args:
        options: see `DataOptions`.

    Returns:
        The report, see `data_report`.

    Raises:
        InputError: if an option or the data are wrong.
    """
    task = options.task
    if task is None:
        first = options.data if options.train is None else options.train
        task = detect_task(first or "bbc_news", options.data_dir)
    if task == "tag":
        if options.windows != "none":
            raise InputError(
                f"--windows {options.windows}: of classifiers; a tagger reads "
                "long sentences in windows anyway."
            )
        from pipelines.tag import tag as recipe

        kind, names = TagOptions, (*_SHARED, *_TAG_OPTIONS)
    else:
        from pipelines.classify import classify as recipe

        kind, names = ClassifyOptions, (*_SHARED, *_TEXT_OPTIONS)
    given = {name: getattr(options, name) for name in names}
    _, metrics = recipe(kind(**given, dry_run=True))
    report = {"task": task, **metrics["data"]}
    print(json.dumps(report, indent=2, ensure_ascii=False))
    return report


def detect_task(source: str, data_dir: str | None = None) -> str:
    """Tells what data are for: `tag` if words have tags, else `classify`.

    Args:
        source: what `--data` or `--train` names.
        data_dir: folder of prepared TensorFlow Datasets.
    """
    source = str(source)
    if source == PUNCTUATION:
        return "tag"
    if source.startswith("tfds:"):
        fields = dict.fromkeys(feature_names(source, data_dir))
    elif os.path.isdir(source):
        return _task_of_folder(pathlib.Path(source), data_dir)
    else:
        suffix = data_suffix(source)
        if suffix == ".tsv" and os.path.exists(source):
            # With a header for texts; columns of words have blank lines.
            lines = itertools.islice(read_lines(source), 1000)
            is_blank = [not line.strip() for _, line in lines]
            return "tag" if any(is_blank[:-1]) else "classify"
        if suffix in CONLL_SUFFIXES:
            return "tag"
        if suffix not in (".jsonl", ".ndjson", ".json"):
            return "classify"
        _, fields = next(read_objects(source), (0, {}))
    return "tag" if looks_tagged(fields) else "classify"


def _task_of_folder(folder: pathlib.Path, data_dir) -> str:
    if is_hf_disk(folder):
        folder = next(iter(hf_splits(folder).values()), folder)
        _, fields = next(read_hf_rows(folder), ("", {}))
        return "tag" if looks_tagged(fields) else "classify"
    files = [e for e in visible_entries(folder) if e.is_file()]
    tasks = set()
    for file in files:
        # A README.txt beside the data is no data.
        if data_suffix(file) != ".txt":
            tasks.add(detect_task(str(file), data_dir))
    if len(tasks) > 1:
        raise InputError(
            f"{folder}: holds files for both tasks; say --task classify or "
            "--task tag."
        )
    return tasks.pop() if tasks else "classify"
