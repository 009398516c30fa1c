"""What the recipes share: encoder, stages, class weights, the result."""

import dataclasses
import pathlib
import random
import time

import keras

from keras_encoder.checkpoints.load import (
    load_encoder,
    load_tokenizer,
    longest_input,
)
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.tokenizer import Tokenizer
from pipelines.console import say
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned, write_model_folder
from pipelines.options import FineTuneOptions, RunOptions
from pipelines.reports.outcome import Outcome
from pipelines.training.best_state import BestState
from pipelines.training.features import compute_states
from pipelines.training.precision import POLICIES, choose_precision
from pipelines.training.stages import Stage, Trainer

# A random encoder of BERT's size reads BERT's uncased vocabulary, from here.
VOCABULARY = "minilm-l6"


@dataclasses.dataclass(frozen=True)
class Pretrained:
    """Where fine-tuning starts.

    Attributes:
        encoder: `Encoder`, with the options' precision and dropout.
        tokenizer: `Tokenizer`.
        is_random: whether nothing was loaded.
        pooler_is_random: whether the checkpoint had no pooler.
        precision: that of the encoder: float32, bfloat16 or float16.
        load_seconds: what loading took.
    """

    encoder: object
    tokenizer: Tokenizer
    is_random: bool
    pooler_is_random: bool
    precision: str
    load_seconds: float


def load_pretrained(options: FineTuneOptions) -> Pretrained:
    """Loads the encoder that the options name, and seeds all that is drawn.

    Raises:
        InputError: if it cannot read `max_length` tokens.
    """
    start = load_start(options)
    if (options.finetune_blocks or 0) > start.encoder.num_layers:
        raise InputError(
            f"--finetune-blocks {options.finetune_blocks}: {options.encoder} "
            f"has {start.encoder.num_layers} blocks."
        )
    return start


def load_start(
    options: RunOptions, tokenizer: Tokenizer | None = None, **overrides
) -> Pretrained:
    """`load_pretrained` for any recipe that trains.

    Args:
        options: of the recipe.
        tokenizer: whose vocabulary a size reads; None: that of MiniLM. A
            checkpoint has its own.
        **overrides: more arguments of `Encoder`.
    """
    _set_seed(options.seed)
    started = time.perf_counter()
    precision = choose_precision(options.precision)
    overrides["dtype"] = POLICIES[precision]
    if options.dropout is not None:
        overrides["dropout"] = options.dropout
        overrides["attention_dropout"] = options.dropout
    if tokenizer is not None:
        overrides["vocabulary_size"] = tokenizer.vocabulary_size
    encoder, own, report = load_encoder(options.encoder, **overrides)
    if own is not None:
        say(f"Encoder: {report}")
    elif tokenizer is not None:
        say(f"Encoder: {options.encoder} with random weights")
    else:
        say(
            f"Encoder: {options.encoder} with random weights; vocabulary of "
            f"{VOCABULARY}"
        )
        tokenizer = Tokenizer.from_folder(find_folder(VOCABULARY))
    _check_length(options, encoder.longest_input)
    encoder.recompute = options.recompute
    return Pretrained(
        encoder,
        own or tokenizer,
        not report.matched,
        report.pooler_is_random,
        precision,
        round(time.perf_counter() - started, 2),
    )


def tokenizer_of(options: RunOptions) -> Tokenizer:
    """The tokenizer that a run uses, without the weights of its encoder.

    Raises:
        InputError: if the encoder cannot read `max_length` tokens.
    """
    _check_length(options, longest_input(options.encoder))
    own = load_tokenizer(options.encoder)
    return own or Tokenizer.from_folder(find_folder(VOCABULARY))


def _check_length(options, longest):
    if options.max_length > longest:
        raise InputError(
            f"--max-length {options.max_length}: {options.encoder} has "
            f"positions for {longest} tokens at most."
        )


def _set_seed(seed):
    """Keras' own function would import TensorFlow on every backend."""
    random.seed(seed)  # where Keras takes the seeds of its generators from
    if keras.backend.backend() == "torch":
        import torch

        torch.manual_seed(seed)  # PyTorch's dropout knows no other


def make_stages(options: FineTuneOptions, is_random: bool) -> list[Stage]:
    """Adapt the head on the frozen encoder, then unfreeze.

    There is nothing to adapt to in a random encoder: its first stage has 0
    epochs.

    Raises:
        InputError: if no stage has epochs.
    """
    adapt_epochs = 0 if is_random else options.adapt_epochs
    if not adapt_epochs and not options.finetune_epochs:
        raise InputError(
            "--adapt-epochs and --finetune-epochs: expected one of them to be "
            "1 or more; an encoder with random weights is never adapted to."
        )
    return [
        Stage(
            "adapt",
            adapt_epochs,
            options.adapt_learning_rate,
            blocks=0,
            warmup=0.0,
            patience=options.adapt_patience,
        ),
        Stage(
            "finetune",
            options.finetune_epochs,
            options.finetune_learning_rate,
            blocks=options.finetune_blocks,
            warmup=options.warmup,
            layer_decay=options.layer_decay,
        ),
    ]


def make_trainer(
    options: FineTuneOptions,
    loss,
    score,
    monitor,
    combine=None,
    compute=compute_states,
    callbacks=(),
) -> Trainer:
    """What the stages share: the options' values and the recipe's own parts.

    Args:
        options: of the recipe.
        loss, score, monitor, combine, compute, callbacks: as in `Trainer`.
    """
    return Trainer(
        loss=loss,
        score=score,
        monitor=monitor,
        combine=combine,
        batch_size=options.batch_size,
        steps_per_update=options.gradient_accumulation_steps,
        weight_decay=options.weight_decay,
        clip_norm=options.clip_norm,
        seed=options.seed,
        compute=compute,
        callbacks=callbacks,
    )


def finish(
    output: pathlib.Path,
    fine_tuned: FineTuned,
    options: RunOptions,
    stages: list[dict],
    best: BestState,
    found: dict,
    started: float,
    outcome: Outcome | None = None,
) -> dict:
    """Writes the model folder and tells what stands in it.

    Args:
        output: the folder.
        fine_tuned: the trained model and what belongs to it.
        options: of the recipe.
        stages: the record of each stage.
        best: where the weights were kept.
        found: what is the recipe's own in `metrics.json`, the metrics of
            `validation` or `test` among it.
        started: `time.perf_counter()` at the start of the run.
        outcome: what the model answered, for the report.

    Returns:
        The content of `metrics.json`.
    """
    metrics = {
        "task": fine_tuned.settings["task"],
        "backend": keras.backend.backend(),
        "seed": options.seed,
        "labels": list(fine_tuned.labels),
        "num_parameters": fine_tuned.model.count_params(),
        "stages": stages,
        "best": {"stage": best.stage, "epoch": best.epoch},
        **found,
        "seconds": round(time.perf_counter() - started, 2),
    }
    write_model_folder(output, fine_tuned, metrics, options, outcome)
    _say_result(metrics, output)
    return metrics


def _say_result(metrics, output):
    part = "test" if "test" in metrics else "validation"
    shown = ", ".join(
        f"{name} {value:.4f}"
        for name, value in metrics[part].items()
        if isinstance(value, float)
        and name not in ("loss", "seconds")
        and not name.startswith("train_")
    )
    say(
        f"Best: {metrics['best']['stage']}, epoch {metrics['best']['epoch']}",
        f"{part.capitalize()}: {shown}",
    )
    print(output)
