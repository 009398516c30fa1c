"""The options of what looks at data and models."""

import dataclasses

from pipelines.options.fields import (
    COUNT,
    NOT_NEGATIVE,
    PRECISIONS,
    REQUIRED,
    SHARE,
    option,
    same_option,
)
from pipelines.options.recipes import ClassifyOptions, TagOptions


def _for(task, options, name):
    """An option that only data of one task have a use for."""
    help = same_option(options, name).metadata["help"]
    return same_option(options, name, help=f"{task}: {help}")


@dataclasses.dataclass(frozen=True)
class EvaluateOptions:
    """Options of `evaluate`: score a model folder on labelled data."""

    model: str = option(REQUIRED, "model folder", must_exist=True)
    data: str = option(
        REQUIRED, "labelled data, as for classify or tag", must_exist=True
    )
    text: str | None = _for("classifier", ClassifyOptions, "text")
    text_pair: str | None = _for("classifier", ClassifyOptions, "text_pair")
    label: str | None = _for("classifier", ClassifyOptions, "label")
    skip_unlabelled: bool = _for(
        "classifier", ClassifyOptions, "skip_unlabelled"
    )
    word: str = _for("tagger", TagOptions, "word")
    tag: str | None = _for("tagger", TagOptions, "tag")
    data_dir: str | None = same_option(ClassifyOptions, "data_dir")
    batch_size: int = same_option(ClassifyOptions, "batch_size")
    abstain_below: float | None = option(
        None,
        "classifier: give no label below this score; 0 answers all (default: "
        "what the model was trained to)",
        range=SHARE,
    )
    output: str | None = option(None, "JSON file for the metrics")
    errors: str | None = option(
        None, "file for the mistakes as JSON lines, the worst first"
    )


@dataclasses.dataclass(frozen=True)
class DataOptions:
    """Options of `data`: report on data as `--dry-run` does."""

    data: str | None = option(
        None, "all splits in one, as for classify or tag", must_exist=True
    )
    train: str | None = same_option(ClassifyOptions, "train")
    validation: str | None = same_option(ClassifyOptions, "validation")
    test: str | None = same_option(ClassifyOptions, "test")
    task: str | None = option(
        None,
        "what the data are for (default: as they look)",
        choices=("classify", "tag"),
    )
    encoder: str = same_option(
        ClassifyOptions, "encoder", help="whose tokenizer counts the tokens"
    )
    max_length: int = same_option(ClassifyOptions, "max_length")
    text: str | None = _for("classifier", ClassifyOptions, "text")
    text_pair: str | None = _for("classifier", ClassifyOptions, "text_pair")
    label: str | None = _for("classifier", ClassifyOptions, "label")
    problem: str = _for("classifier", ClassifyOptions, "problem")
    skip_unlabelled: bool = _for(
        "classifier", ClassifyOptions, "skip_unlabelled"
    )
    windows: str = _for("classifier", ClassifyOptions, "windows")
    stride: int | None = _for("classifier", ClassifyOptions, "stride")
    word: str = _for("tagger", TagOptions, "word")
    tag: str | None = _for("tagger", TagOptions, "tag")
    data_dir: str | None = same_option(ClassifyOptions, "data_dir")
    cache_dir: str | None = same_option(ClassifyOptions, "cache_dir")
    seed: int = same_option(ClassifyOptions, "seed", help="of the splits")


@dataclasses.dataclass(frozen=True)
class PredictOptions:
    """Options of `predict`: labels or fills for new texts, as JSON lines."""

    model: str = same_option(EvaluateOptions, "model")
    text: str | None = option(None, "one text, given here", may_be_empty=True)
    input: str | None = option(
        None,
        "JSON lines, CSV, CoNLL or plain lines; - reads standard input",
        must_exist=True,
    )
    output: str | None = option(
        None, "file for the JSON lines (default: standard output)"
    )
    batch_size: int = option(32, "texts a step", range=COUNT)
    aggregation: str = option(
        "first",
        "tagger: how pieces become entities, as in transformers",
        choices=("none", "simple", "first", "average", "max"),
    )
    abstain_below: float | None = same_option(EvaluateOptions, "abstain_below")


@dataclasses.dataclass(frozen=True)
class VerifyOptions:
    """Options of `verify`: one batch on every installed backend, compared."""

    encoder: str = option("minilm-l6", "as for classify")
    tolerance: float = option(
        1e-4, "largest difference in float32", range=NOT_NEGATIVE
    )
    bfloat16_tolerance: float = option(
        0.05,
        "largest difference in bfloat16, as a share of the layer's largest "
        "value",
        range=NOT_NEGATIVE,
    )


@dataclasses.dataclass(frozen=True)
class InfoOptions:
    """Options of `info`: parameters and operations by component."""

    encoder: str = option("bert-base", "as for classify")
    length: int = option(512, "tokens of an input", range=COUNT)


@dataclasses.dataclass(frozen=True)
class BenchmarkOptions:
    """Options of `benchmark`: speed as ratios, measured in one run."""

    mode: str = option("train", "what a step does", choices=("train", "infer"))
    precision: str = option(
        "float32",
        "of the computation",
        choices=PRECISIONS,
    )
    encoder: str = option("minilm-l6-h384", "a size, such as bert-base")
    batch_size: int = option(32, "texts a step", range=COUNT)
    length: int = option(128, "tokens a text", range=(1, 512))
    repeats: int = option(5, "counted steps, after two warm-ups", range=COUNT)
    peer: bool = option(
        False, "measure transformers on PyTorch, too (if installed)"
    )
