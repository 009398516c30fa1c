"""Fine-tune an encoder to classify texts: freeze, adapt, unfreeze.

    keras-encoder classify                       # BBC News with MiniLM
    keras-encoder classify --data mine.csv --text body --label topic

Leaves a model folder that `predict`, `evaluate` and transformers open.
"""

import collections
import time

import keras
import numpy as np

from keras_encoder.checkpoints.load import load_encoder
from keras_encoder.checkpoints.locate import find_folder
from keras_encoder.heads import SequenceClassifier
from keras_encoder.tokenizer import Tokenizer
from pipelines import decisions
from pipelines.console import say
from pipelines.data.examples import TextExample
from pipelines.data.labels import label_names
from pipelines.data.sources import load_splits
from pipelines.errors import InputError
from pipelines.metrics import fit_thresholds
from pipelines.model_folder import FineTuned, write_model_folder
from pipelines.options import ClassifyOptions
from pipelines.outputs import choose_output
from pipelines.predict import predict_scores
from pipelines.stages import Stage, Trainer, TrainingData, run_stages
from pipelines.texts import tokenise

# A random encoder of BERT's size reads BERT's uncased vocabulary, from here.
VOCABULARY = "minilm-l6"
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
        the folder that `options.output` names, too.

    Raises:
        InputError: if an option or the data are wrong; before training.
    """
    started = time.perf_counter()
    output = choose_output(options.output, options.overwrite, "classify")
    splits = _read_splits(options)
    labels = label_names(splits.train) or ("score",)
    settings = {
        "task": "classify",
        "problem": options.problem,
        "max_length": options.max_length,
    }
    weights = _example_weights(options, splits.train, labels)

    keras.utils.set_random_seed(options.seed)
    model, tokenizer, report = _build(options, len(labels), splits.train)
    fine_tuned = FineTuned(model, tokenizer, labels, settings)
    train, cut = tokenise(tokenizer, splits.train, options.max_length)
    validation, _ = tokenise(tokenizer, splits.validation, options.max_length)
    if cut:
        say(
            f"{cut} of {len(splits.train)} training texts are longer than "
            f"{options.max_length} tokens and are cut (--max-length)."
        )
    records, best = run_stages(
        model,
        make_stages(options, is_pretrained=bool(report.matched)),
        TrainingData(train, _targets(options, splits.train, labels), weights),
        validation,
        _trainer(options, splits.validation, labels, settings),
        report.pooler_is_random,
    )
    if options.problem == "multi_label":
        probabilities = predict_scores(
            fine_tuned, splits.validation, options.batch_size
        )
        gold = [example.label for example in splits.validation]
        settings["thresholds"] = fit_thresholds(
            gold, probabilities, labels
        ).tolist()
    metrics = {
        "task": "classify",
        "backend": keras.backend.backend(),
        "seed": options.seed,
        "labels": list(labels),
        "num_parameters": model.count_params(),
        "rows": {
            "train": len(splits.train),
            "validation": len(splits.validation),
            "test": len(splits.test),
        },
        "texts_cut": cut,
        "stages": records,
        "best": {"stage": best.stage, "epoch": best.epoch},
    }
    for part in ("validation", "test"):
        examples = getattr(splits, part)
        if examples:
            metrics[part] = score_examples(
                fine_tuned, examples, options.batch_size
            )
    metrics["seconds"] = round(time.perf_counter() - started, 2)
    write_model_folder(output, fine_tuned, metrics, options)
    _say_result(metrics, output)
    return fine_tuned, metrics


def score_examples(
    fine_tuned: FineTuned, examples: list[TextExample], batch_size: int
) -> dict:
    """Metrics of a fine-tuned model on labelled examples."""
    return decisions.score(
        [example.label for example in examples],
        predict_scores(fine_tuned, examples, batch_size),
        fine_tuned.labels,
        fine_tuned.settings,
    )


def make_stages(options, is_pretrained: bool = True) -> list[Stage]:
    """Adapt the head on the frozen encoder, then unfreeze.

    A random encoder has nothing to adapt to: its first stage has 0 epochs.
    """
    return [
        Stage(
            "adapt",
            options.adapt_epochs if is_pretrained else 0,
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


def _read_splits(options):
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
    )
    say(
        f"Data: {len(splits.train)} training, {len(splits.validation)} "
        f"validation, {len(splits.test)} test texts",
        *(f"  {line}" for line in splits.note),
    )
    return splits


def _build(options, num_classes, examples):
    """The task model with its tokenizer and the report of the loading."""
    policies = {"bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
    overrides = {"dtype": policies.get(options.precision, "float32")}
    if options.dropout is not None:
        overrides["dropout"] = options.dropout
        overrides["attention_dropout"] = options.dropout
    encoder, tokenizer, report = load_encoder(options.encoder, **overrides)
    say(f"Encoder: {report}")
    if tokenizer is None:
        say(f"Vocabulary: {VOCABULARY} (a size has none of its own)")
        tokenizer = Tokenizer.from_folder(find_folder(VOCABULARY))
    if options.max_length > encoder.max_sequence_length:
        raise InputError(
            f"--max-length {options.max_length}: {options.encoder} has "
            f"positions for {encoder.max_sequence_length} tokens at most."
        )
    has_pairs = any(e.text_pair is not None for e in examples)
    if has_pairs and encoder.num_segments < 2:
        raise InputError(
            f"--encoder {options.encoder}: knows one segment only, but the "
            "data have pairs of texts."
        )
    model = SequenceClassifier(encoder, num_classes, dropout=encoder.dropout)
    return model, tokenizer, report


def _trainer(options, validation, labels, settings):
    gold = [example.label for example in validation]

    def score(outputs):
        scores = decisions.to_scores(np.stack(outputs), options.problem)
        return decisions.score(gold, scores, labels, settings)

    return Trainer(
        loss=_loss(options),
        score=score,
        monitor=MONITOR[options.problem],
        batch_size=options.batch_size,
        weight_decay=options.weight_decay,
        clip_norm=options.clip_norm,
        seed=options.seed,
    )


def _loss(options):
    # The mean over the weights: class weights and the rows that fill up the
    # last batch change the divisor, too.
    mean = {"reduction": "mean_with_sample_weight"}
    if options.problem == "regression":
        return keras.losses.MeanSquaredError(**mean)
    if options.problem == "multi_label":
        return keras.losses.BinaryCrossentropy(
            from_logits=True, label_smoothing=options.label_smoothing, **mean
        )
    return keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=options.label_smoothing, **mean
    )


def _targets(options, examples, labels):
    """float32 (rows, classes): one-hot, multi-hot, or the value."""
    if options.problem == "regression":
        return np.array([[e.label] for e in examples], "float32")
    column = {label: i for i, label in enumerate(labels)}
    targets = np.zeros((len(examples), len(labels)), "float32")
    for row, example in zip(targets, examples, strict=True):
        names = example.label
        for name in (names,) if isinstance(names, str) else names:
            row[column[name]] = 1.0
    return targets


def _example_weights(options, examples, labels):
    """float32 (rows,): 1, or the weight of the example's class."""
    if options.class_weights is None:
        return np.ones(len(examples), "float32")
    if options.problem != "single_label":
        raise InputError(
            "--class-weights: only for --problem single_label, found "
            f"{options.problem}."
        )
    counts = collections.Counter(example.label for example in examples)
    if options.class_weights == "balanced":
        by_label = {
            label: len(examples) / (len(labels) * counts[label])
            for label in labels
        }
    else:
        by_label = _parse_weights(options.class_weights, labels)
    return np.array([by_label[e.label] for e in examples], "float32")


def _parse_weights(text, labels):
    by_label = dict.fromkeys(labels, 1.0)
    for pair in text.split(","):
        name, _, value = pair.rpartition("=")
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if name.strip() not in by_label or not 0 < weight < float("inf"):
            raise InputError(
                f"--class-weights: expected balanced or LABEL=WEIGHT pairs, "
                f"labels {', '.join(labels)}; found {pair!r}."
            )
        by_label[name.strip()] = weight
    return by_label


def _say_result(metrics, output):
    part = "test" if "test" in metrics else "validation"
    scores = metrics[part]
    shown = ", ".join(
        f"{name} {value:.4f}"
        for name, value in scores.items()
        if isinstance(value, float) and name != "loss"
    )
    say(
        f"Best: {metrics['best']['stage']}, epoch {metrics['best']['epoch']}",
        f"{part.capitalize()}: {shown}",
    )
    print(output)
