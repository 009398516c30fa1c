"""`--data SPEC` or `--train/--validation/--test` -> examples by split."""

import dataclasses
import itertools
import os
import pathlib
from collections.abc import Iterable, Mapping

from pipelines.data.examples import PARTS, TextExample
from pipelines.data.labels import (
    PROBLEMS,
    compare_label_sets,
    is_minus_one,
    label_names,
    normalise_label,
)
from pipelines.data.layouts import by_split, folder_splits
from pipelines.data.python_rows import is_from_python, source_name
from pipelines.data.readers import check_source, read_examples
from pipelines.data.splits import stratified_split
from pipelines.data.stored import StoredExamples
from pipelines.data.tfds import tfds_splits
from pipelines.errors import InputError

_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class Splits:
    """Labelled examples for training, validation and test.

    Attributes:
        train, validation, test: examples on disk, with normalised labels,
            none of them unlabelled. `test` is empty where only training and
            validation data were given, or where no test row has a label.
        note: lines that tell what was split off, left out or not known.
    """

    train: StoredExamples
    validation: StoredExamples
    test: StoredExamples
    note: list[str]


def load_splits(
    data: str | None = None,
    train: str | None = None,
    validation: str | None = None,
    test: str | None = None,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    problem: str = "single_label",
    seed: int = 42,
    skip_unlabelled: bool = False,
    data_dir: str | None = None,
) -> Splits:
    """Reads all splits, makes those that are missing, and checks the labels.

    One undivided data set is split 80/10/10; where training and test data
    come without validation data, 10 % of the training data become them.

    Args:
        data: what holds all splits; BBC News where nothing at all is given.
            From Python a DataFrame, a Dataset or an iterable of rows (as for
            `read_python`), or a mapping of such by split.
        train, validation, test: one source a split, instead of `data`.
        text, text_pair, label: column names; None to detect.
        problem: `single_label`, `multi_label` or `regression`.
        seed: seed of the splits.
        skip_unlabelled: leave out rows without a label, and count them in
            the note; in test data they always are.
        data_dir: folder of prepared TensorFlow Datasets.

    Raises:
        InputError: if anything about the data is wrong.
    """
    if problem not in PROBLEMS:
        raise InputError(
            f"--problem: expected {', '.join(PROBLEMS)}; found {problem!r}."
        )
    parts, note = find_parts(data, train, validation, test, data_dir)
    found = {name: StoredExamples() for name in PARTS}
    marks = False  # whether -1 marks rows without a label
    for name in (name for name in found if name in parts):
        rows = itertools.chain.from_iterable(
            read_examples(source, text, text_pair, label, data_dir=data_dir)
            for source in parts[name]
        )
        skip = skip_unlabelled or name == "test"
        found[name], left_out = _normalise(rows, problem, skip, marks)
        place = f"{name} ({', '.join(map(source_name, parts[name]))})"
        _check_rows(place, found[name], left_out, name, note)
        if name == "train":
            _check_labels(place, found["train"], problem)
            marks = not _knows_minus_one(found["train"])
    _split_off(found, parts, seed, note)
    names = label_names(found["train"])
    for name in ("validation", "test"):
        note += compare_label_sets(names, found[name], name)
    return Splits(**found, note=note)


def find_parts(
    data: str | None = None,
    train: str | None = None,
    validation: str | None = None,
    test: str | None = None,
    data_dir: str | None = None,
) -> tuple[dict[str, list], list[str]]:
    """Finds the sources of each split and checks that all of them exist.

    Returns:
        Sources for `read_examples` by split ("train" alone where the data are
        undivided), and lines about data that no split takes.
    """
    given = {"train": train, "validation": validation, "test": test}
    given = {n: source for n, source in given.items() if source is not None}
    if data is not None and given:
        raise InputError(
            f"--data and --{next(iter(given))} were both given; give either "
            "--data, or --train with --validation and --test."
        )
    if given:
        parts, unused = {name: [place] for name, place in given.items()}, []
    else:
        parts, unused = _parts_of(
            "bbc_news" if data is None else data, data_dir
        )
    for source in itertools.chain.from_iterable(parts.values()):
        check_source(source)
    if "train" not in parts:
        raise InputError(
            f"{'--train' if data is None else source_name(data)}: expected "
            "training data, found only "
            f"{' and '.join(parts) or ', '.join(unused)}; name the training "
            "data with --train."
        )
    return parts, [f"not used: {name}" for name in unused]


def _parts_of(data, data_dir: str | None) -> tuple[dict, list[str]]:
    if isinstance(data, Mapping):
        return by_split({str(name): part for name, part in data.items()})
    if is_from_python(data):
        return {"train": [data]}, []
    data = str(data)
    if data.startswith("tfds:") and "@" not in data:
        splits = tfds_splits(data, data_dir)
        parts, unused = by_split({name: f"{data}@{name}" for name in splits})
        return parts, [f"{data}@{name}" for name in unused]
    if os.path.isdir(data):
        return folder_splits(pathlib.Path(data))
    return {"train": [data]}, []


def _normalise(
    rows: Iterable[TextExample], problem: str, skip: bool, marks: bool
) -> tuple[StoredExamples, int]:
    """The labelled rows, and how many have no label and were left out."""
    left_out = 0

    def labelled():
        nonlocal left_out
        for row in rows:
            allowed = skip and (marks or not is_minus_one(row.label))
            label = normalise_label(row.label, problem, row.where, allowed)
            if label is None:
                left_out += 1
            else:
                yield dataclasses.replace(row, label=label)

    return StoredExamples(labelled()), left_out


def _check_rows(place, examples, left_out, name, note) -> None:
    if left_out:
        note.append(f"{name}: {left_out} rows without a label left out")
    if examples or (name == "test" and left_out):
        return
    found = f"{left_out} rows without one" if left_out else "none"
    raise InputError(f"{place}: expected rows with a label, found {found}.")


def _check_labels(place, examples, problem) -> None:
    labels = set(examples.labels)
    if problem == "multi_label":
        if not any(labels):
            raise InputError(f"{place}: no row has any label.")
    elif len(labels) < 2:
        kind = "values" if problem == "regression" else "classes"
        raise InputError(
            f"{place}: expected at least two {kind}, found only "
            f'"{labels.pop()}" ({len(examples)} rows); check the label column '
            "(--label)."
        )


def _knows_minus_one(examples: StoredExamples) -> bool:
    """Whether -1 can be a label of the task, as in -1, 0, 1."""
    return "-1" in label_names(examples) or any(
        isinstance(label, float) and label < 0 for label in examples.labels
    )


def _split_off(found, parts, seed, note) -> None:
    missing = [name for name in ("validation", "test") if name not in parts]
    if missing == ["test"]:
        note.append("test: none given; scores are those on validation")
        return
    if not missing:
        return
    found["train"], *new = stratified_split(
        found["train"], [_SHARE] * len(missing), seed
    )
    for name, examples in zip(missing, new, strict=True):
        found[name] = examples
        note.append(
            f"{name}: {len(examples)} rows split off train (seed {seed})"
        )
