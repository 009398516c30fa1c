"""TensorFlow Datasets with a sequence of words and a sequence of tags."""

from collections.abc import Iterator

from pipelines.data import tfds as text_tfds
from pipelines.data.arrow_rows import name_of
from pipelines.data.examples import TaggedExample
from pipelines.data.tagged.records import examples_from_records
from pipelines.errors import InputError

_TOKENS = ("tokens", "words")
_TAGS = ("tags", "ner_tags", "ner", "labels")


def read_tfds_tagged(
    spec: str,
    tokens: str | None = None,
    tags: str | None = None,
    data_dir: str | None = None,
) -> Iterator[TaggedExample]:
    """Yields the sentences of one split, one at a time, in stored order.

    Args:
        spec: such as `tfds:conll2003@train[:10%]`; the part after `@` is a
            split or a slice in TensorFlow Datasets' notation.
        tokens: feature of the words; None to detect.
        tags: feature of the tags; None to detect. Class ids come out as their
            names.
        data_dir: folder of prepared data sets; nothing is downloaded for a
            data set that lies there.

    Raises:
        InputError: if the data set cannot be read or lacks the features.
    """
    name, split = text_tfds._parse(spec)
    builder = text_tfds._builder(name, data_dir)
    if split is None:
        raise InputError(
            f"{spec}: expected a split, such as {spec}@train; found the "
            f"splits {', '.join(builder.info.splits)}."
        )
    features = builder.info.features
    tokens = _feature(spec, features, "tokens", tokens, _TOKENS)
    tags = _feature(spec, features, "tags", tags, _TAGS)
    classes = text_tfds._class_names(features, [tags]).get(tags)

    def records():
        rows = text_tfds._rows(builder, split, spec)
        for number, raw in enumerate(rows, start=1):
            where = f"{spec}, row {number}"
            row = {n: text_tfds._plain(raw[n], where) for n in (tokens, tags)}
            if classes:
                row[tags] = name_of(row[tags], classes, where)
            yield where, row

    return examples_from_records(records(), tokens, tags)


def _feature(spec, features, role, wanted, usual):
    found = sorted(features) if hasattr(features, "keys") else []
    if wanted is not None:
        usual = (wanted,)
    for name in usual:
        if name in found:
            return name
    raise InputError(
        f"{spec}: expected a feature {' or '.join(usual)} for the {role}, "
        f"found {', '.join(found) or features}; name it."
    )
