"""TensorFlow Datasets: `tfds:NAME[/CONFIG][:VERSION][@SPLIT]`."""

import contextlib
import os
from collections.abc import Iterator

from pipelines.data.arrow_rows import name_of
from pipelines.data.columns import choose_columns, example_from
from pipelines.data.examples import TextExample
from pipelines.errors import InputError


def tfds_splits(spec: str, data_dir: str | None = None) -> list[str]:
    """Names of the splits of a data set, such as train, test."""
    name, _ = _parse(spec)
    return list(_builder(name, data_dir).info.splits)


def feature_names(spec: str, data_dir: str | None = None) -> list[str]:
    """Names of the features of a data set."""
    name, _ = _parse(spec)
    features = _builder(name, data_dir).info.features
    return list(features) if hasattr(features, "keys") else []


def read_tfds(
    spec: str,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    labelled: bool = True,
    data_dir: str | None = None,
) -> Iterator[TextExample]:
    """Yields the examples of one split, one at a time, in stored order.

    Features that the data set's authors named as input and target are taken
    before names are guessed. Class ids come out as their names; -1 comes out
    as None.

    Args:
        spec: such as `tfds:glue/sst2@train[:10%]`; the part after `@` is a
            split or a slice in TensorFlow Datasets' notation.
        text, text_pair, label: feature names; None to detect.
        labelled: whether data without a label feature is an error.
        data_dir: folder of prepared data sets; nothing is downloaded for a
            data set that lies there.
    """
    name, split = _parse(spec)
    builder = _builder(name, data_dir)
    if split is None:
        raise InputError(
            f"{spec}: expected a split, such as {spec}@train; found the "
            f"splits {', '.join(builder.info.splits)}."
        )
    features = builder.info.features
    if not hasattr(features, "keys"):
        raise InputError(f"{spec}: expected named features, found {features}.")
    if text is None and text_pair is None:
        text = _supervised_text(builder)
    columns = choose_columns(
        list(features.keys()), spec, text, text_pair, label, labelled
    )
    classes = _class_names(features, columns.names())
    for number, raw in enumerate(_rows(builder, split, spec), start=1):
        where = f"{spec}, row {number}"
        row = {n: _plain(raw[n], where) for n in columns.names()}
        for column, names in classes.items():
            row[column] = name_of(row[column], names, where)
        yield example_from(row, columns, where)


def _parse(spec: str) -> tuple[str, str | None]:
    name, _, split = spec.removeprefix("tfds:").partition("@")
    if not name:
        raise InputError(
            f"{spec}: expected tfds:NAME[/CONFIG][@SPLIT], such as "
            "tfds:imdb_reviews or tfds:glue/sst2@train."
        )
    return name, split or None


def _builder(name: str, data_dir: str | None):
    tfds = _import_tfds(name)
    with _tfds_errors(f"tfds:{name}"):
        builder = tfds.builder(name, data_dir=data_dir, try_gcs=False)
        if not builder.info.splits:
            builder.download_and_prepare()
        return builder


def _import_tfds(name: str):
    try:
        import tensorflow as tf
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise InputError(
            f"tfds:{name}: reading it needs TensorFlow Datasets and "
            'TensorFlow: pip install "keras-encoder[tfds,tensorflow]"'
        ) from error
    if os.environ.get("KERAS_BACKEND") in ("jax", "torch"):
        # TensorFlow only reads here; it would claim the whole GPU's memory.
        with contextlib.suppress(RuntimeError):
            tf.config.set_visible_devices([], "GPU")
    return tfds


@contextlib.contextmanager
def _tfds_errors(spec: str) -> Iterator[None]:
    """Names, splits, networks and files all fail with errors of their own."""
    try:
        yield
    except InputError:
        raise
    except ModuleNotFoundError as error:  # some data sets need more packages
        raise InputError(
            f"{spec}: TensorFlow Datasets needs the package {error.name} for "
            f"it: pip install {error.name}"
        ) from error
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise InputError(
            f"{spec}: TensorFlow Datasets cannot read it ({reason:.300}). "
            "Check the name, the split and, without a network, that the data "
            "set is prepared in the data folder (TFDS_DATA_DIR)."
        ) from error


def _rows(builder, split: str, spec: str) -> Iterator[dict]:
    import tensorflow_datasets as tfds

    with _tfds_errors(spec):
        dataset = builder.as_dataset(split=split, shuffle_files=False)
        yield from tfds.as_numpy(dataset)


def _supervised_text(builder) -> str | None:
    import tensorflow_datasets as tfds

    keys = builder.info.supervised_keys
    if not keys or not isinstance(keys[0], str):
        return None
    feature = builder.info.features[keys[0]]
    return keys[0] if isinstance(feature, tfds.features.Text) else None


def _class_names(features, columns: list[str]) -> dict[str, list[str]]:
    found = {}
    for column in columns:
        feature = features[column]
        feature = getattr(feature, "feature", feature)
        # A ClassLabel may know only how many classes there are.
        if getattr(feature, "names", None):
            found[column] = list(feature.names)
    return found


def _plain(value, where: str):
    """Numpy's bytes, numbers and arrays as Python's own."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{where}: expected UTF-8, found byte "
                f"0x{value[error.start]:02x} at offset {error.start}."
            ) from error
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), where)
    if isinstance(value, list):
        return [_plain(item, where) for item in value]
    return value
