"""Fine-tune an encoder to classify texts: freeze, adapt, unfreeze.

    keras-encoder classify                       # BBC News with MiniLM
    keras-encoder classify --data mine.csv --text body --label topic

Leaves a model folder that `predict`, `evaluate` and transformers open.
"""

import functools
import time

import keras
import numpy as np

from keras_encoder.heads import SequenceClassifier
from keras_encoder.losses import SmoothCrossentropy
from pipelines.classification import decisions
from pipelines.classification.calibration import fit_decisions
from pipelines.classification.targets import example_weights, make_targets
from pipelines.classification.texts import (
    check_segments,
    cut_of,
    score_texts,
    text_logits,
    tokenise,
)
from pipelines.classification.windows import NONE, combine
from pipelines.console import say
from pipelines.data.examples import PARTS
from pipelines.data.labels import label_names
from pipelines.data.sources import Splits, load_splits
from pipelines.data.splits import classes_of
from pipelines.data.stored import have_pairs, labels_of
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.options import ClassifyOptions
from pipelines.outputs import choose_output
from pipelines.reports.data_report import Part, data_report, report_lines
from pipelines.training.recipe import (
    finish,
    load_pretrained,
    make_stages,
    make_trainer,
    tokenizer_of,
)
from pipelines.training.stages import TrainingData, run_stages

# The metric of the validation data that chooses the weights to keep.
MONITOR = {
    "single_label": "macro_f1",
    "multi_label": "macro_f1",
    "regression": "r2",
}


def classify(options: ClassifyOptions) -> tuple[FineTuned, dict]:
    """Runs the recipe.

    Args:
        options: see `ClassifyOptions`.

    Returns:
        The fine-tuned model and the content of `metrics.json`; both stand in
        the folder that `options.output` names, too. With `dry_run` no model
        and the data report alone, and no folder.

    Raises:
        InputError: if an option or the data are wrong; before training.
    """
    started = time.perf_counter()
    _check_options(options)
    output = choose_output(options.output, options.overwrite, "classify")
    splits = read_splits(options)
    labels = label_names(splits.train) or ("score",)
    weights = example_weights(options, splits.train, labels)
    settings = {
        "task": "classify",
        "problem": options.problem,
        "max_length": options.max_length,
        "windows": options.windows,
        "stride": options.stride,
    }
    if options.allow_empty:
        settings["allow_empty"] = True
    if options.dry_run:
        tokenizer = tokenizer_of(options)
        _, report = _tokenise_splits(tokenizer, splits, settings)
        return None, {"task": "classify", "data": report}

    start = load_pretrained(options)
    _check_pairs(start.encoder, splits)
    model = SequenceClassifier(
        start.encoder, len(labels), dropout=start.encoder.dropout
    )
    fine_tuned = FineTuned(model, start.tokenizer, labels, settings)
    inputs, report = _tokenise_splits(start.tokenizer, splits, settings)
    stages, best = _train(fine_tuned, options, start, inputs, splits, weights)
    found = {"rows": {n: len(getattr(splits, n)) for n in PARTS}}
    found["data"] = report
    if fitted := fit_decisions(
        fine_tuned, inputs["validation"], splits.validation.labels, options
    ):
        found["calibration"] = fitted
    for part in PARTS[1:]:
        if examples := getattr(splits, part):
            found[part] = score_texts(fine_tuned, examples, options.batch_size)
    if warning := decisions.one_sided(found["validation"]):
        say(warning)
    metrics = finish(output, fine_tuned, options, stages, best, found, started)
    return fine_tuned, metrics


def _train(fine_tuned, options, start, inputs, splits, weights):
    """Runs the stages; their records and the best state, now the model's."""
    model, labels = fine_tuned.model, fine_tuned.labels
    targets = make_targets(options.problem, splits.train, labels)
    mean, deviation = 0.0, 1.0
    if options.problem == "regression":
        # A head learns these at the rates that suit classes; values of
        # hundreds it would never reach.
        mean, deviation = targets.mean(), targets.std() or 1.0
        targets = (targets - mean) / deviation
    classes = None
    if options.sampling == "balanced":
        classes = classes_of(splits.train.labels)
    gold = labels_of(splits.validation)

    def score(outputs):
        outputs = np.stack(outputs) * deviation + mean
        owners = inputs["validation"].owners
        outputs = text_logits(outputs, owners, fine_tuned.settings)
        scores = decisions.to_scores(outputs, options.problem)
        return decisions.score(gold, scores, labels, fine_tuned.settings)

    result = run_stages(
        model,
        make_stages(options, start.is_random),
        TrainingData(inputs["train"], targets, weights, classes),
        inputs["validation"],
        make_trainer(
            options,
            loss=make_loss(options),
            score=score,
            monitor=MONITOR[options.problem],
            combine=functools.partial(
                combine, how=options.windows, problem=options.problem
            ),
        ),
        start.pooler_is_random,
    )
    kernel, bias = model.logits.get_weights()
    model.logits.set_weights([kernel * deviation, bias * deviation + mean])
    return result


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


def make_loss(options: ClassifyOptions) -> keras.losses.Loss:
    """The loss of a problem, as a mean over the weights of the examples.

    Class weights, and the rows that fill up the last batch, change the
    divisor, too. With windows the weights themselves make it a mean
    (`WindowBatches`).
    """
    mean = {"reduction": "mean_with_sample_weight"}
    if options.windows != NONE:
        mean = {"reduction": "sum_over_batch_size"}
    if options.problem == "single_label":
        return SmoothCrossentropy(
            options.label_smoothing, options.focal, **mean
        )
    if options.problem == "regression":
        return keras.losses.MeanSquaredError(**mean)
    if options.focal:
        return keras.losses.BinaryFocalCrossentropy(
            gamma=options.focal,
            from_logits=True,
            label_smoothing=options.label_smoothing,
            **mean,
        )
    return keras.losses.BinaryCrossentropy(
        from_logits=True, label_smoothing=options.label_smoothing, **mean
    )


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
        say(
            f"  {over['share']:.1%} of the training texts are cut; --windows "
            "mean reads them whole."
        )
    return inputs, report
