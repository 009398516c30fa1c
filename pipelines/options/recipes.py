"""The options of the recipes that train."""

import dataclasses

from pipelines.options.fields import (
    COUNT,
    LENGTH,
    NOT_NEGATIVE,
    PRECISIONS,
    RATE,
    SEED,
    SHARE,
    option,
    same_option,
)


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """What every recipe that trains shares."""

    output: str | None = option(
        None,
        "folder for the model; made (default: runs/RECIPE-N)",
        is_path=True,
    )
    overwrite: bool = option(
        False, "replace what stands at --output and --csv-log"
    )
    tensorboard: str | None = option(
        None, "folder for TensorBoard's files, written by epoch", is_path=True
    )
    csv_log: str | None = option(
        None,
        "CSV file of losses and scores, written by epoch (at the end "
        "history.csv in --output has the same)",
        is_path=True,
    )
    max_length: int = option(
        128,
        "tokens that are read at once, special tokens included",
        range=LENGTH,
    )
    batch_size: int = option(32, "texts a step", range=COUNT)
    gradient_accumulation_steps: int = option(
        1,
        "steps that make one update, that of a batch so many times as large; "
        "memory stays that of one step",
        range=COUNT,
    )
    recompute: bool = option(
        False,
        "compute each block once more instead of keeping what it computed: "
        "less memory, more time",
    )
    warmup: float = option(
        0.1,
        "share of the steps to warm up in; not of a frozen stage",
        range=RATE,
    )
    weight_decay: float = option(
        0.01, "AdamW decay; not of biases and norms", range=NOT_NEGATIVE
    )
    clip_norm: float = option(
        1.0, "largest norm of the gradient", range=NOT_NEGATIVE
    )
    dropout: float | None = option(
        None,
        "hidden and attention dropout (default: the encoder's)",
        range=RATE,
    )
    precision: str = option(
        "auto",
        "of the computation; weights stay in float32; auto: bfloat16 where "
        "this machine is faster in it, else float32",
        choices=("auto", *PRECISIONS),
    )
    seed: int = option(
        42,
        "of splits, initial weights, dropout, shuffling",
        range=SEED,
    )


@dataclasses.dataclass(frozen=True)
class FineTuneOptions(RunOptions):
    """What every recipe that fine-tunes an encoder shares.

    From Python, `data`, `train`, `validation` and `test` may also be a pandas
    DataFrame, a `datasets.Dataset` or an iterable of rows, and `data` a
    mapping of such by split.
    """

    train: str | None = option(
        None,
        "training data, instead of --data",
        is_path=True,
        must_exist=True,
    )
    validation: str | None = option(
        None,
        "validation data, with --train",
        is_path=True,
        must_exist=True,
    )
    test: str | None = option(
        None, "test data, with --train", is_path=True, must_exist=True
    )
    data_dir: str | None = option(
        None,
        "folder of prepared TensorFlow Datasets (tfds:NAME)",
        is_path=True,
    )
    cache_dir: str | None = option(
        None,
        "folder for temporary files: the outputs of a frozen encoder, and "
        "texts, while they are many (default: that of the system)",
        is_path=True,
    )
    dry_run: bool = option(
        False, "read the data, report on them and stop; nothing is written"
    )
    encoder: str = option(
        "minilm-l6",
        "minilm-l6, a folder, hf://ORG/NAME, keras_hub:NAME, or a size with "
        "random weights such as bert-tiny",
        is_path=True,
    )
    stride: int | None = option(
        None,
        "tokens that the windows of a long text share (default: a quarter)",
        range=NOT_NEGATIVE,
    )
    adapt_epochs: int = option(
        100,
        "most epochs with a frozen encoder; 0 skips this stage",
        range=NOT_NEGATIVE,
    )
    adapt_learning_rate: float = option(
        1e-3, "its learning rate", range=NOT_NEGATIVE
    )
    adapt_patience: int | None = option(
        5, "epochs without improvement after which it ends", range=COUNT
    )
    finetune_epochs: int = option(
        2,
        "epochs with the encoder unfrozen; 0 skips this stage",
        range=NOT_NEGATIVE,
    )
    finetune_learning_rate: float = option(
        2e-5, "its learning rate", range=NOT_NEGATIVE
    )
    finetune_blocks: int | None = option(
        None,
        "unfreeze only so many of the top blocks (default: everything)",
        range=NOT_NEGATIVE,
    )
    layer_decay: float = option(
        1.0,
        "factor on the learning rate from each block to the one below",
        range=SHARE,
    )
    label_smoothing: float = option(0.0, "in [0, 1)", range=RATE)
    focal: float = option(
        0.0,
        "gamma of the focal loss, which looks away from what is easy; 0: off",
        range=NOT_NEGATIVE,
    )
    class_weights: str | None = option(
        None,
        'balanced, or LABEL=WEIGHT pairs: "spam=3,ham=1"; in double quotes '
        "where a label has a comma",
    )


@dataclasses.dataclass(frozen=True)
class ClassifyOptions(FineTuneOptions):
    """Options of `classify`: fine-tune an encoder to classify texts."""

    data: str | None = option(
        None,
        "all splits in one: bbc_news (the default), tfds:NAME, a CSV, TSV, "
        "JSONL or Parquet file, or a folder",
        is_path=True,
        must_exist=True,
    )
    text: str | None = option(None, "name of the text column")
    text_pair: str | None = option(None, "name of the second text's column")
    label: str | None = option(None, "name of the label column")
    problem: str = option(
        "single_label",
        "what a label is",
        choices=("single_label", "multi_label", "regression"),
    )
    skip_unlabelled: bool = option(
        False, "leave out rows without a label instead of stopping"
    )
    windows: str = option(
        "none",
        "read texts beyond --max-length in windows, and take the mean or the "
        "largest of their logits or let them vote; none cuts",
        choices=("none", "mean", "max", "vote"),
    )
    sampling: str = option(
        "all",
        "texts of an epoch: all once, or balanced: as many of each label (of "
        "several, a text's rarest)",
        choices=("all", "balanced"),
    )
    allow_empty: bool = option(
        False, "multi_label: let a text have no label at all"
    )
    learning_curve: str | None = option(
        None,
        "also train on shares of the data, such as 0.1,0.3, and tell how the "
        "scores grow",
    )
    target_accuracy: float | None = option(
        None,
        "give no label where the score is too low for the answers to be "
        "right so often, as fitted on the validation data",
        range=SHARE,
    )


@dataclasses.dataclass(frozen=True)
class TagOptions(FineTuneOptions):
    """Options of `tag`: fine-tune an encoder to label every word."""

    data: str | None = option(
        None,
        "all splits in one: punctuation (the default), tfds:NAME, CoNLL "
        "columns, CoNLL-U, JSONL with tokens and tags or with spans, or a "
        "folder",
        is_path=True,
        must_exist=True,
    )
    word: str = option("0", "column (from 0) or field of the words")
    tag: str | None = option(
        None,
        "column (-1: the last) or field of the tags; CoNLL-U: upos, xpos or "
        "misc:KEY",
    )
    adapt_epochs: int = same_option(FineTuneOptions, "adapt_epochs", default=10)
    adapt_learning_rate: float = same_option(
        FineTuneOptions, "adapt_learning_rate", default=1e-2
    )
    adapt_patience: int | None = same_option(
        FineTuneOptions, "adapt_patience", default=2
    )
    finetune_epochs: int = same_option(
        FineTuneOptions, "finetune_epochs", default=3
    )
    finetune_learning_rate: float = same_option(
        FineTuneOptions, "finetune_learning_rate", default=1e-4
    )
    document_context: bool = option(
        False, "let a sentence see its neighbours in the document"
    )
    constrained: bool = option(
        True, "choose the best sequence of tags that the scheme allows"
    )
    crf: bool = option(
        False, "learn which tag follows which: a conditional random field"
    )


@dataclasses.dataclass(frozen=True)
class PretrainOptions(RunOptions):
    """Options of `pretrain`: train an encoder to guess masked words."""

    data: str | None = option(
        None,
        "texts: a .txt file (a sentence a line, blank lines between "
        "documents), a folder of them, bbc_news (the default), or what "
        "classify reads",
        is_path=True,
        must_exist=True,
    )
    validation: str | None = option(
        None,
        "held-out texts (default: every tenth document)",
        is_path=True,
        must_exist=True,
    )
    text: str | None = option(None, "name of the text column")
    encoder: str = option(
        "bert-tiny",
        "a size, to start from random weights, or a checkpoint to go on from: "
        "as for classify",
        is_path=True,
    )
    epochs: int = option(20, "times that the texts are read", range=COUNT)
    learning_rate: float | None = option(
        None,
        "peak (default: 1e-3 from random weights, else 5e-5)",
        range=NOT_NEGATIVE,
    )
    whole_word: bool = option(
        False, "mask all pieces of a word or none of them"
    )
    next_sentence: bool = option(
        False, "also learn whether two texts follow each other"
    )
    vocabulary_size: int | None = option(
        None,
        "train a WordPiece vocabulary of so many tokens on the texts (of a "
        "size; default: that of minilm-l6)",
        range=COUNT,
    )
    positions: str | None = option(
        None,
        "of a size: learned (BERT, the default), sinusoidal, relative or "
        "rotary; rotary ones learn from few texts, but transformers opens "
        "only learned ones",
    )
    cased: bool = option(False, "that vocabulary keeps capitals and accents")
