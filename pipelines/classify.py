"""Fine-tune an encoder to classify texts: freeze, adapt, unfreeze.

    keras-encoder classify                       # BBC News with MiniLM
    keras-encoder classify --data mine.csv --text body --label topic

Leaves a model folder that `predict`, `evaluate` and transformers open.
"""

import time
from collections.abc import Sequence

import keras

from keras_encoder.heads import SequenceClassifier
from pipelines.classification import decisions
from pipelines.classification.learning_curve import read_shares
from pipelines.classification.targets import example_weights
from pipelines.classification.texts import check_segments, cut_of, tokenise
from pipelines.classification.training import Task, train, train_curve
from pipelines.classification.windows import NONE, Cut
from pipelines.console import say
from pipelines.data.examples import PARTS
from pipelines.data.labels import label_names
from pipelines.data.scratch import scratch_folder
from pipelines.data.sources import Splits, load_splits
from pipelines.data.stored import have_pairs
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.options import ClassifyOptions
from pipelines.options.fields import named_columns
from pipelines.outputs import choose_output
from pipelines.reports.data_report import Part, data_report, report_lines
from pipelines.training.callbacks import log_callbacks
from pipelines.training.recipe import finish, load_pretrained, tokenizer_of


def classify(
    options: ClassifyOptions,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> tuple[FineTuned, dict]:
    """Runs the recipe.

    Args:
        options: see `ClassifyOptions`.
        callbacks: see `pipelines.training.stages.Trainer`.

    Returns:
        The fine-tuned model and the content of `metrics.json`; both stand in
        the folder that `options.output` names, too. With `dry_run` no model
        and the data report alone, and no folder.

    Raises:
        InputError: if an option or the data are wrong; before training.
    """
    with scratch_folder(options.cache_dir):
        return _classify(options, callbacks)


def _classify(options, callbacks):
    started = time.perf_counter()
    _check_options(options)
    shares = read_shares(options.learning_curve)
    output = choose_output(options.output, options.overwrite, "classify")
    splits = read_splits(options)
    labels = label_names(splits.train) or ("score",)
    weights = example_weights(options, splits.train, labels)
    settings = {
        "task": "classify",
        "problem": options.problem,
        "max_length": options.max_length,
    }
    if options.windows != NONE:
        settings |= {"windows": options.windows, "stride": options.stride}
    if options.allow_empty:
        settings["allow_empty"] = True
    if columns := named_columns(options):
        settings["columns"] = columns
    if options.dry_run:
        tokenizer = tokenizer_of(options)
        _, report = _tokenise_splits(tokenizer, splits, settings)
        return None, {"task": "classify", "data": report}

    callbacks = (*callbacks, *log_callbacks(options))
    start = load_pretrained(options)
    _check_pairs(start.encoder, splits)
    model = SequenceClassifier(
        start.encoder, len(labels), dropout=start.encoder.dropout
    )
    fine_tuned = FineTuned(model, start.tokenizer, labels, settings)
    inputs, report = _tokenise_splits(start.tokenizer, splits, settings)
    task = Task(fine_tuned, options, start, splits, weights, inputs, callbacks)
    found = {"rows": {n: len(getattr(splits, n)) for n in PARTS}}
    found |= {
        "data": report,
        "precision": start.precision,
        "load_seconds": start.load_seconds,
    }
    if shares:
        stages, best, scores, outcome = train_curve(task, shares)
    else:
        stages, best, scores, outcome = train(task)
    found |= scores
    if warning := decisions.one_sided(found["validation"]):
        say(warning)
    metrics = finish(
        output, fine_tuned, options, stages, best, found, started, outcome
    )
    return fine_tuned, metrics


def read_splits(options: ClassifyOptions) -> Splits:
    """Reads the data and tells what was found."""
    splits = load_splits(
        options.data,
        options.train,
        options.validation,
        options.test,
        text=options.text,
        text_pair=options.text_pair,
        label=options.label,
        problem=options.problem,
        seed=options.seed,
        skip_unlabelled=options.skip_unlabelled,
        data_dir=options.data_dir,
    )
    say(
        f"Data: {len(splits.train)} training, {len(splits.validation)} "
        f"validation, {len(splits.test)} test texts",
        *(f"  {line}" for line in splits.note),
    )
    return splits


def _check_pairs(encoder, splits):
    if any(map(have_pairs, (splits.train, splits.validation, splits.test))):
        check_segments(encoder)


def _check_options(options):
    for name, is_given, problem in (
        ("target-accuracy", options.target_accuracy, "single_label"),
        ("allow-empty", options.allow_empty, "multi_label"),
    ):
        if is_given and options.problem != problem:
            raise InputError(
                f"--{name}: only for --problem {problem}, found "
                f"{options.problem}."
            )
    if options.sampling == "balanced" and (
        options.class_weights or options.problem == "regression"
    ):
        raise InputError(
            "--sampling balanced: of classes, and without --class-weights, "
            "which would even them out once more."
        )
    half = (options.max_length - 2) // 2
    if options.windows == NONE and options.stride is not None:
        raise InputError(
            "--stride: of the windows that --windows mean, max or vote makes."
        )
    if (options.stride or 0) > half:
        raise InputError(
            f"--stride {options.stride}: expected at most half of a window's "
            f"tokens, here {half}."
        )


def _tokenise_splits(tokenizer, splits, settings):
    """`Inputs` by split, and the data report, which is printed, too."""
    inputs, parts = {}, {}
    max_length, cut = settings["max_length"], cut_of(settings)
    for name in PARTS:
        if examples := getattr(splits, name):
            inputs[name], counts = tokenise(
                tokenizer, examples, max_length, cut
            )
            parts[name] = Part(examples.labels, examples.hashes, counts)
    report = data_report(parts, max_length)
    say(*report_lines(report))
    over = report["train"]["over_length"]
    if cut is None and over["rows"]:
        tokens = parts["train"].tokens
        mean = Cut(max_length).mean_windows(tokens.lengths, tokens.special)
        say(
            f"  {over['share']:.1%} of the training texts are cut; --windows "
            f"mean reads them whole, in {mean:.1f} windows a text."
        )
    return inputs, report
