"""The options of each recipe: one frozen dataclass, the only list of them.

The same names serve the Python call, the YAML file of `--config` and the
command line (`max_length` is `--max-length`). Nothing here imports a backend,
so that `--help` answers at once.
"""

import dataclasses
import math
import os

from pipelines.data.python_rows import FROM_PYTHON, is_from_python, source_name

COUNT = (1, math.inf)
NOT_NEGATIVE = (0, math.inf)
# The largest float below 1: rates lie in [0, 1).
RATE = (0.0, math.nextafter(1.0, 0.0))
SHARE = (0.0, 1.0)


def _option(default, help, **metadata):
    return dataclasses.field(
        default=default, metadata={"help": help, **metadata}
    )


def options_to_save(options) -> dict:
    """The values of options as `options.yaml` repeats a run with them.

    Paths become absolute, so that the file may be used from any folder; data
    that were given in Python are only named.
    """
    saved = {}
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.metadata.get("is_path") and value is not None:
            if is_from_python(value):
                value = FROM_PYTHON + source_name(value)
            elif field.name == "output" or os.path.exists(value):
                value = os.path.abspath(value)
        saved[field.name] = value
    return saved


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """What every recipe that trains shares."""

    output: str | None = _option(
        None,
        "folder for the model; made (default: runs/RECIPE-N)",
        is_path=True,
    )
    overwrite: bool = _option(
        False, "replace a model folder that stands at --output"
    )
    max_length: int = _option(
        128,
        "tokens that are read at once, special tokens included",
        range=(3, math.inf),
    )
    batch_size: int = _option(32, "texts a step", range=COUNT)
    warmup: float = _option(
        0.1,
        "share of the steps to warm up in; not of a frozen stage",
        range=RATE,
    )
    weight_decay: float = _option(
        0.01, "AdamW decay; not of biases and norms", range=NOT_NEGATIVE
    )
    clip_norm: float = _option(
        1.0, "largest norm of the gradient", range=NOT_NEGATIVE
    )
    dropout: float | None = _option(
        None,
        "hidden and attention dropout (default: the encoder's)",
        range=RATE,
    )
    precision: str = _option(
        "float32",
        "of the computation; weights stay in float32",
        choices=("float32", "bfloat16", "float16"),
    )
    seed: int = _option(
        42,
        "of splits, initial weights, dropout, shuffling",
        range=(0, 2**32 - 1),
    )


@dataclasses.dataclass(frozen=True)
class FineTuneOptions(RunOptions):
    """What every recipe that fine-tunes an encoder shares.

    From Python, `data`, `train`, `validation` and `test` may also be a pandas
    DataFrame, a `datasets.Dataset` or an iterable of rows, and `data` a
    mapping of such by split.
    """

    train: str | None = _option(
        None, "training data, instead of --data", is_path=True
    )
    validation: str | None = _option(
        None, "validation data, with --train", is_path=True
    )
    test: str | None = _option(None, "test data, with --train", is_path=True)
    data_dir: str | None = _option(
        None,
        "folder of prepared TensorFlow Datasets (tfds:NAME)",
        is_path=True,
    )
    dry_run: bool = _option(
        False, "read the data, report on them and stop; nothing is written"
    )
    encoder: str = _option(
        "minilm-l6",
        "minilm-l6, a folder, hf://ORG/NAME, keras_hub:NAME, or a size with "
        "random weights such as bert-tiny",
        is_path=True,
    )
    adapt_epochs: int = _option(
        100,
        "most epochs with a frozen encoder; 0 skips this stage",
        range=NOT_NEGATIVE,
    )
    adapt_learning_rate: float = _option(
        1e-3, "its learning rate", range=NOT_NEGATIVE
    )
    adapt_patience: int | None = _option(
        5, "epochs without improvement after which it ends", range=COUNT
    )
    finetune_epochs: int = _option(
        2,
        "epochs with the encoder unfrozen; 0 skips this stage",
        range=NOT_NEGATIVE,
    )
    finetune_learning_rate: float = _option(
        2e-5, "its learning rate", range=NOT_NEGATIVE
    )
    finetune_blocks: int | None = _option(
        None,
        "unfreeze only so many of the top blocks (default: everything)",
        range=NOT_NEGATIVE,
    )
    layer_decay: float = _option(
        1.0,
        "factor on the learning rate from each block to the one below",
        range=SHARE,
    )
    label_smoothing: float = _option(0.0, "in [0, 1)", range=RATE)
    focal: float = _option(
        0.0,
        "gamma of the focal loss, which looks away from what is easy; 0: off",
        range=NOT_NEGATIVE,
    )
    class_weights: str | None = _option(
        None,
        'balanced, or LABEL=WEIGHT pairs: "spam=3,ham=1"; in double quotes '
        "where a label has a comma",
    )


@dataclasses.dataclass(frozen=True)
class ClassifyOptions(FineTuneOptions):
    """Options of `classify`: fine-tune an encoder to classify texts."""

    data: str | None = _option(
        None,
        "all splits in one: bbc_news (the default), tfds:NAME, a CSV, TSV, "
        "JSONL or Parquet file, or a folder",
        is_path=True,
    )
    text: str | None = _option(None, "name of the text column")
    text_pair: str | None = _option(None, "name of the second text's column")
    label: str | None = _option(None, "name of the label column")
    problem: str = _option(
        "single_label",
        "what a label is",
        choices=("single_label", "multi_label", "regression"),
    )
    skip_unlabelled: bool = _option(
        False, "leave out rows without a label instead of stopping"
    )


@dataclasses.dataclass(frozen=True)
class TagOptions(FineTuneOptions):
    """Options of `tag`: fine-tune an encoder to label every word."""

    data: str | None = _option(
        None,
        "all splits in one: punctuation (the default), tfds:NAME, CoNLL "
        "columns, CoNLL-U, JSONL with tokens and tags or with spans, or a "
        "folder",
        is_path=True,
    )
    word: str = _option("0", "column (from 0) or field of the words")
    tag: str | None = _option(
        None,
        "column (-1: the last) or field of the tags; CoNLL-U: upos, xpos or "
        "misc:KEY",
    )
    adapt_epochs: int = _option(
        10,
        "most epochs with a frozen encoder; 0 skips this stage",
        range=NOT_NEGATIVE,
    )
    adapt_learning_rate: float = _option(
        1e-2, "its learning rate", range=NOT_NEGATIVE
    )
    adapt_patience: int | None = _option(
        2, "epochs without improvement after which it ends", range=COUNT
    )
    finetune_epochs: int = _option(
        3,
        "epochs with the encoder unfrozen; 0 skips this stage",
        range=NOT_NEGATIVE,
    )
    finetune_learning_rate: float = _option(
        1e-4, "its learning rate", range=NOT_NEGATIVE
    )
    stride: int | None = _option(
        None,
        "tokens that the windows of a long sentence share (default: a quarter)",
        range=NOT_NEGATIVE,
    )
    document_context: bool = _option(
        False, "let a sentence see its neighbours in the document"
    )
    constrained: bool = _option(
        True, "choose the best sequence of tags that the scheme allows"
    )
    crf: bool = _option(
        False, "learn which tag follows which: a conditional random field"
    )


@dataclasses.dataclass(frozen=True)
class PretrainOptions(RunOptions):
    """Options of `pretrain`: train an encoder to guess masked words."""

    data: str | None = _option(
        None,
        "texts: a .txt file (a sentence a line, blank lines between "
        "documents), a folder of them, bbc_news (the default), or what "
        "classify reads",
        is_path=True,
    )
    validation: str | None = _option(
        None,
        "held-out texts (default: every tenth document)",
        is_path=True,
    )
    text: str | None = _option(None, "name of the text column")
    encoder: str = _option(
        "bert-tiny",
        "a size, to start from random weights, or a checkpoint to go on from: "
        "as for classify",
        is_path=True,
    )
    epochs: int = _option(20, "times that the texts are read", range=COUNT)
    learning_rate: float | None = _option(
        None,
        "peak (default: 1e-3 from random weights, else 5e-5)",
        range=NOT_NEGATIVE,
    )
    whole_word: bool = _option(
        False, "mask all pieces of a word or none of them"
    )
    next_sentence: bool = _option(
        False, "also learn whether two texts follow each other"
    )
    vocabulary_size: int | None = _option(
        None,
        "train a WordPiece vocabulary of so many tokens on the texts (of a "
        "size; default: that of minilm-l6)",
        range=COUNT,
    )
    cased: bool = _option(False, "that vocabulary keeps capitals and accents")


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """Options of `evaluate`: score a model folder on labelled data."""

    model: str = _option(dataclasses.MISSING, "model folder")
    data: str = _option(
        dataclasses.MISSING, "labelled data, as for classify or tag"
    )
    text: str | None = _option(None, "classifier: name of the text column")
    text_pair: str | None = _option(
        None, "classifier: name of the second text's column"
    )
    label: str | None = _option(None, "classifier: name of the label column")
    skip_unlabelled: bool = _option(
        False, "classifier: leave out rows without a label"
    )
    word: str = _option("0", "tagger: column or field of the words")
    tag: str | None = _option(None, "tagger: column or field of the tags")
    data_dir: str | None = _option(
        None, "folder of prepared TensorFlow Datasets (tfds:NAME@SPLIT)"
    )
    batch_size: int = _option(32, "texts a step", range=COUNT)
    output: str | None = _option(None, "JSON file for the metrics")


@dataclasses.dataclass(frozen=True)
class DataOptions:
    """Options of `data`: report on data as `--dry-run` does."""

    data: str | None = _option(
        None, "all splits in one, as for classify or tag"
    )
    train: str | None = _option(None, "training data, instead of --data")
    validation: str | None = _option(None, "validation data, with --train")
    test: str | None = _option(None, "test data, with --train")
    task: str | None = _option(
        None,
        "what the data are for (default: as they look)",
        choices=("classify", "tag"),
    )
    encoder: str = _option("minilm-l6", "whose tokenizer counts the tokens")
    max_length: int = _option(
        128, "tokens that are read at once", range=(3, math.inf)
    )
    text: str | None = _option(None, "classifier: name of the text column")
    text_pair: str | None = _option(
        None, "classifier: name of the second text's column"
    )
    label: str | None = _option(None, "classifier: name of the label column")
    problem: str = _option(
        "single_label",
        "classifier: what a label is",
        choices=("single_label", "multi_label", "regression"),
    )
    skip_unlabelled: bool = _option(
        False, "classifier: leave out rows without a label"
    )
    word: str = _option("0", "tagger: column or field of the words")
    tag: str | None = _option(None, "tagger: column or field of the tags")
    data_dir: str | None = _option(
        None, "folder of prepared TensorFlow Datasets (tfds:NAME)"
    )
    seed: int = _option(42, "of the splits", range=(0, 2**32 - 1))


@dataclasses.dataclass(frozen=True)
class PredictOptions:
    """Options of `predict`: labels or fills for new texts, as JSON lines."""

    model: str = _option(dataclasses.MISSING, "model folder")
    text: str | None = _option(None, "one text, given here", may_be_empty=True)
    input: str | None = _option(
        None,
        "JSON lines, CSV, CoNLL or plain lines; - reads standard input",
    )
    output: str | None = _option(
        None, "file for the JSON lines (default: standard output)"
    )
    batch_size: int = _option(32, "texts a step", range=COUNT)
    aggregation: str = _option(
        "first",
        "tagger: how pieces become entities, as in transformers",
        choices=("none", "simple", "first", "average", "max"),
    )


@dataclasses.dataclass(frozen=True)
class VerifyOptions:
    """Options of `verify`: one batch on every installed backend, compared."""

    encoder: str = _option("minilm-l6", "as for classify")
    tolerance: float = _option(
        1e-4, "largest difference in float32", range=NOT_NEGATIVE
    )
    bfloat16_tolerance: float = _option(
        0.05,
        "largest difference in bfloat16, as a share of the layer's largest "
        "value",
        range=NOT_NEGATIVE,
    )


@dataclasses.dataclass(frozen=True)
class InfoOptions:
    """Options of `info`: parameters and operations by component."""

    encoder: str = _option("bert-base", "as for classify")
    length: int = _option(512, "tokens of an input", range=COUNT)


@dataclasses.dataclass(frozen=True)
class BenchmarkOptions:
    """Options of `benchmark`: speed as ratios, measured in one run."""

    mode: str = _option("train", "what a step does", choices=("train", "infer"))
    precision: str = _option(
        "float32",
        "of the computation",
        choices=("float32", "bfloat16", "float16"),
    )
    encoder: str = _option("minilm-l6-h384", "a size, such as bert-base")
    batch_size: int = _option(32, "texts a step", range=COUNT)
    length: int = _option(128, "tokens a text", range=(1, 512))
    repeats: int = _option(5, "counted steps, after two warm-ups", range=COUNT)
    peer: bool = _option(
        False, "measure transformers on PyTorch, too (if installed)"
    )
