"""Fine-tune an encoder to label every word: entities, parts of speech.

    keras-encoder tag                        # punctuation of BBC News, MiniLM
    keras-encoder tag --data entities.conll

Leaves a model folder that `predict`, `evaluate` and transformers open.
"""

import itertools
import time
from collections.abc import Sequence

import keras
import numpy as np

from keras_encoder.heads import TokenTagger
from keras_encoder.layers.crf import CRF
from keras_encoder.losses import CrfLoss, SmoothCrossentropy
from pipelines.classification import metrics
from pipelines.console import say
from pipelines.data.examples import PARTS, TaggedExample
from pipelines.data.labels import compare_names, order_names
from pipelines.data.python_rows import source_name
from pipelines.data.tagged.reading import PUNCTUATION
from pipelines.data.tagged.sources import TaggedSplits, load_tagged_splits
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.options import TagOptions
from pipelines.outputs import choose_output
from pipelines.reports.data_report import (
    Part,
    TokenCounts,
    data_report,
    report_lines,
)
from pipelines.reports.outcome import Outcome
from pipelines.tagging import schemes
from pipelines.tagging.alignment import Windows, gather, split_words, token_rows
from pipelines.tagging.decoding import crf_transitions
from pipelines.tagging.entities import choose_labels
from pipelines.tagging.outcome import tag_outcome
from pipelines.tagging.sentences import (
    label_sentences,
    piece_probabilities,
    predict_pieces,
    tag_scores,
    to_inner,
    windows_of,
)
from pipelines.training.callbacks import log_callbacks
from pipelines.training.recipe import (
    finish,
    load_pretrained,
    make_stages,
    make_trainer,
    tokenizer_of,
    weights_by_label,
)
from pipelines.training.stages import TrainingData, run_stages


def tag(
    options: TagOptions, callbacks: Sequence[keras.callbacks.Callback] = ()
) -> tuple[FineTuned, dict]:
    """Runs the recipe.

    Args:
        options: see `TagOptions`.
        callbacks: see `pipelines.training.stages.Trainer`.

    Returns:
        The fine-tuned model and the content of `metrics.json`; both stand in
        the folder that `options.output` names, too. With `dry_run` no model
        and the data report alone, and no folder.

    Raises:
        InputError: if an option or the data are wrong; before training.
    """
    started = time.perf_counter()
    _check_options(options)
    output = choose_output(options.output, options.overwrite, "tag")
    splits, scheme = read_splits(options)
    labels = tag_names(splits.train)
    weights = weights_by_label(
        options.class_weights, labels, list(_all_tags(splits.train))
    )
    if options.dry_run:
        _, report = _split_all(tokenizer_of(options), splits, options)
        return None, {"task": "tag", "data": report}

    callbacks = (*callbacks, *log_callbacks(options))
    start = load_pretrained(options)
    model = TokenTagger(
        start.encoder,
        len(labels),
        dropout=start.encoder.dropout,
        crf=CRF(len(labels)) if options.crf else None,
    )
    settings = {
        "task": "tag",
        "max_length": options.max_length,
        "stride": options.stride,
        "document_context": options.document_context,
        "constrained": options.constrained,
        "scheme": scheme,
        "words": "punctuation" if _uses_bbc(options) else "tokenizer",
    }
    fine_tuned = FineTuned(model, start.tokenizer, labels, settings)
    split, report = _split_all(start.tokenizer, splits, options)
    train = _windows(fine_tuned, split["train"], splits.train)
    validation = _windows(fine_tuned, split["validation"], splits.validation)
    stages, best = run_stages(
        model,
        make_stages(options, start.is_random),
        _training_data(train, splits.train, labels, weights),
        validation.inputs,
        make_trainer(
            options,
            loss=_loss(model, options),
            score=_scorer(fine_tuned, validation, splits.validation),
            monitor="accuracy" if scheme == schemes.PLAIN else "f1",
            callbacks=callbacks,
        ),
    )
    found = {"scheme": scheme, "data": report}
    # Known from the best epoch; the model need not run once more.
    outputs = [(range(len(best.outputs)), best.outputs)]
    logits = gather(validation, outputs, len(labels))
    by_piece = {"validation": piece_probabilities(logits, split["validation"])}
    if splits.test:
        documents = [e.document for e in splits.test]
        by_piece["test"] = predict_pieces(
            fine_tuned, split["test"], documents, options.batch_size
        )
    for part, pieces in by_piece.items():
        results = label_sentences(fine_tuned, split[part], pieces)
        found[part], outcome = _judge(
            part, getattr(splits, part), results, scheme
        )
    metrics = finish(
        output, fine_tuned, options, stages, best, found, started, outcome
    )
    return fine_tuned, metrics


def _judge(part, examples, results, scheme) -> tuple[dict, Outcome]:
    """Metrics of a split, and what its report shows."""
    gold = [example.tags for example in examples]
    tags = [tags for tags, _ in results]
    scores = tag_scores(gold, tags, scheme)
    return scores, tag_outcome(part, examples, results, scheme)


def _uses_bbc(options):
    if options.train is not None:
        return False
    return options.data is None or (
        isinstance(options.data, str) and options.data == PUNCTUATION
    )


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
        data_dir=options.data_dir,
    )
    parts = {name: getattr(splits, name) for name in PARTS}
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
        place = options.train if options.data is None else options.data
        raise InputError(
            f"{source_name(place)}: expected words with at least two "
            f"different tags, found {', '.join(known) or 'no word'}; "
            "check --tag."
        )
    for name in PARTS[1:]:
        pairs = ((e.where, t) for e in inner[name] for t in e.tags)
        say(*(f"  {line}" for line in compare_names(known, pairs, name)))
    return TaggedSplits(**inner, notes=splits.notes), scheme


def _check_options(options):
    if options.stride is not None and options.stride >= options.max_length - 2:
        raise InputError(
            f"--stride {options.stride}: expected less than the room of a "
            f"window, --max-length {options.max_length} less 2."
        )
    if options.crf and (
        options.class_weights or options.focal or options.label_smoothing
    ):
        raise InputError(
            "--crf: its loss is of whole sentences, not of single words; "
            "leave out --class-weights, --focal and --label-smoothing."
        )


def _loss(model, options):
    if model.crf is not None:
        # The words that count in a window are a sequence of their own here;
        # when words are labelled, those of the whole sentence are one.
        return CrfLoss(model.crf)
    return SmoothCrossentropy(options.label_smoothing, options.focal)


def tag_names(examples: list[TaggedExample]) -> tuple[str, ...]:
    """All tags in a stable order, `O` first."""
    names = order_names(set(_all_tags(examples)))
    return tuple(sorted(names, key=lambda name: name != schemes.OUTSIDE))


def _all_tags(examples):
    return itertools.chain.from_iterable(e.tags for e in examples)


def _split_all(tokenizer, splits, options):
    """Pieces of the sentences by split, and the data report, printed, too."""
    split, parts = {}, {}
    for name in PARTS:
        if examples := getattr(splits, name):
            words = [e.tokens for e in examples]
            split[name] = split_words(tokenizer, words)
            pieces = np.concatenate([s.pieces for s in split[name]])
            lengths = np.array([len(s.pieces) for s in split[name]])
            counts = TokenCounts(
                lengths + 2,
                special=2,
                read=len(pieces),
                unknown=int((pieces == tokenizer.unk_id).sum()),
            )
            hashes = np.array([hash(tokens) for tokens in words])
            parts[name] = Part(_all_tags(examples), hashes, counts)
    report = data_report(parts, options.max_length)
    say(*report_lines(report))
    return split, report


def _windows(fine_tuned, split, examples) -> Windows:
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


def _scorer(fine_tuned, windows, examples):
    """The validation metrics of a tagger, from its outputs by window."""
    labels, settings = fine_tuned.labels, fine_tuned.settings
    gold = [example.tags for example in examples]
    column = {label: i for i, label in enumerate(labels)}
    ids = np.array([column.get(t, -1) for t in _all_tags(examples)], "int64")
    known = ids >= 0
    ends = np.cumsum([len(tags) for tags in gold])

    def score(outputs):
        pairs = [(range(len(outputs)), outputs)]
        logits = gather(windows, pairs, len(labels))[windows.is_first]
        words = np.split(metrics.softmax(logits.astype("float64")), ends[:-1])
        crf = crf_transitions(fine_tuned.model.crf)
        constrained = settings["constrained"]
        chosen = [choose_labels(w, labels, constrained, crf) for w in words]
        predicted = [[labels[i] for i in best] for best, _ in chosen]
        probabilities = np.concatenate([p for _, p in chosen])
        right = probabilities[known, ids[known]]
        losses = -np.log(np.maximum(right, 1e-12))
        loss = float(losses.sum() / max(1, len(losses)))
        return {"loss": loss, **tag_scores(gold, predicted, settings["scheme"])}

    return score
