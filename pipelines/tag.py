"""Fine-tune an encoder to label every word: entities, parts of speech.

    keras-encoder tag                        # punctuation of BBC News, MiniLM
    keras-encoder tag --data entities.conll

Leaves a model folder that `predict`, `evaluate` and transformers open.
"""

import itertools
import time

import keras
import numpy as np

from keras_encoder.heads import TokenTagger
from keras_encoder.losses import SmoothCrossentropy
from pipelines import metrics, schemes
from pipelines.alignment import Windows, gather, split_words, token_rows
from pipelines.console import say
from pipelines.data.examples import TaggedExample
from pipelines.data.labels import compare_names, order_names
from pipelines.data.tag_reading import PUNCTUATION
from pipelines.data.tag_sources import TaggedSplits, load_tagged_splits
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned, write_model_folder
from pipelines.options import TagOptions
from pipelines.outputs import choose_output
from pipelines.recipe import (
    load_pretrained,
    make_stages,
    make_trainer,
    say_result,
    weights_by_label,
)
from pipelines.sentences import (
    score_sentences,
    tag_scores,
    to_inner,
    windows_of,
)
from pipelines.stages import TrainingData, run_stages


def tag(options: TagOptions) -> tuple[FineTuned, dict]:
    """Runs the recipe.

    Args:
        options: see `TagOptions`.

    Returns:
        The fine-tuned model and the content of `metrics.json`; both stand in
        the folder that `options.output` names, too.

    Raises:
        InputError: if an option or the data are wrong; before training.
    """
    started = time.perf_counter()
    if options.stride is not None and options.stride >= options.max_length - 2:
        raise InputError(
            f"--stride {options.stride}: expected less than the room of a "
            f"window, --max-length {options.max_length} less 2."
        )
    output = choose_output(options.output, options.overwrite, "tag")
    splits, scheme = read_splits(options)
    labels = tag_names(splits.train)
    weights = weights_by_label(
        options.class_weights, labels, list(_all_tags(splits.train))
    )
    start = load_pretrained(options)
    model = TokenTagger(
        start.encoder, len(labels), dropout=start.encoder.dropout
    )
    uses_bbc = not options.train and options.data in (None, PUNCTUATION)
    settings = {
        "task": "tag",
        "max_length": options.max_length,
        "stride": options.stride,
        "document_context": options.document_context,
        "constrained": options.constrained,
        "scheme": scheme,
        "words": "punctuation" if uses_bbc else "tokenizer",
    }
    fine_tuned = FineTuned(model, start.tokenizer, labels, settings)
    train = _windows(fine_tuned, splits.train)
    validation = _windows(fine_tuned, splits.validation)
    records, best = run_stages(
        model,
        make_stages(options, start.is_random),
        _training_data(train, splits.train, labels, weights),
        validation.inputs,
        make_trainer(
            options,
            loss=SmoothCrossentropy(options.label_smoothing, options.focal),
            score=_scorer(validation, splits.validation, labels, scheme),
            monitor="accuracy" if scheme == schemes.PLAIN else "f1",
        ),
    )
    result = {
        "task": "tag",
        "backend": keras.backend.backend(),
        "seed": options.seed,
        "labels": list(labels),
        "scheme": scheme,
        "num_parameters": model.count_params(),
        "stages": records,
        "best": {"stage": best.stage, "epoch": best.epoch},
    }
    for part in ("validation", "test"):
        examples = getattr(splits, part)
        if examples:
            result[part] = score_sentences(
                fine_tuned, examples, options.batch_size
            )
    result["seconds"] = round(time.perf_counter() - started, 2)
    write_model_folder(output, fine_tuned, result, options)
    say_result(result, output)
    return fine_tuned, result


def read_splits(options: TagOptions) -> tuple[TaggedSplits, str]:
    """Reads the data and converts their tags to the inner scheme.

    Returns:
        The splits with inner tags, and the scheme that they were written in.
    """
    splits = load_tagged_splits(
        options.data,
        options.train,
        options.validation,
        options.test,
        word=options.word,
        tag=options.tag,
        seed=options.seed,
    )
    parts = {
        name: getattr(splits, name) for name in ("train", "validation", "test")
    }
    scheme = schemes.detect_scheme(
        e.tags for examples in parts.values() for e in examples
    )
    say(
        f"Data: {len(splits.train)} training, {len(splits.validation)} "
        f"validation, {len(splits.test)} test sentences; tags: {scheme}",
        *(f"  {note}" for note in splits.notes),
    )
    inner = {
        name: to_inner(examples, scheme) for name, examples in parts.items()
    }
    known = tag_names(inner["train"])
    if len(known) < 2:
        raise InputError(
            f"{options.data or options.train}: expected words with at least "
            f"two different tags, found {', '.join(known) or 'no word'}; "
            "check --tag."
        )
    for name in ("validation", "test"):
        pairs = ((e.where, t) for e in inner[name] for t in e.tags)
        say(*(f"  {line}" for line in compare_names(known, pairs, name)))
    return TaggedSplits(**inner, notes=splits.notes), scheme


def tag_names(examples: list[TaggedExample]) -> tuple[str, ...]:
    """All tags in a stable order, `O` first."""
    names = order_names(set(_all_tags(examples)))
    return tuple(sorted(names, key=lambda name: name != schemes.OUTSIDE))


def _all_tags(examples):
    return itertools.chain.from_iterable(e.tags for e in examples)


def _windows(fine_tuned, examples) -> Windows:
    split = split_words(fine_tuned.tokenizer, [e.tokens for e in examples])
    documents = [e.document for e in examples]
    return windows_of(
        fine_tuned.tokenizer, split, fine_tuned.settings, documents
    )


def _training_data(windows, examples, labels, weights) -> TrainingData:
    column = {label: i for i, label in enumerate(labels)}
    tags = list(_all_tags(examples))
    ids = np.array([column[t] for t in tags], "int32")
    by_word = np.array([weights.get(t, 1.0) for t in tags], "float32")
    return TrainingData(
        windows.inputs,
        token_rows(windows, ids, "int32"),
        token_rows(windows, by_word, "float32"),
    )


def _scorer(windows, examples, labels, scheme):
    """The validation metrics of a tagger, from its outputs by window."""
    gold = [example.tags for example in examples]
    column = {label: i for i, label in enumerate(labels)}
    ids = np.array([column.get(t, -1) for t in _all_tags(examples)], "int64")
    ends = np.cumsum([len(tags) for tags in gold])

    def score(outputs):
        pairs = [(range(len(outputs)), outputs)]
        logits = gather(windows, pairs, len(labels))[windows.is_first]
        probabilities = metrics.softmax(logits.astype("float64"))
        known = ids >= 0
        right = probabilities[known, ids[known]]
        chosen = [labels[i] for i in probabilities.argmax(axis=-1)]
        starts = np.concatenate([[0], ends[:-1]])
        predicted = [chosen[a:b] for a, b in zip(starts, ends, strict=True)]
        losses = -np.log(np.maximum(right, 1e-12))
        loss = float(losses.sum() / max(1, len(losses)))
        return {"loss": loss, **tag_scores(gold, predicted, scheme)}

    return score
