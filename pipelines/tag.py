"""Fine-tune an encoder to label every word: entities, parts of speech.

    keras-encoder tag                        # punctuation of BBC News, MiniLM
    keras-encoder tag --data entities.conll

Leaves a model folder that `predict`, `evaluate` and transformers open.
"""

import collections
import time
from collections.abc import Sequence

import keras
import numpy as np

from keras_encoder.heads import TokenTagger
from keras_encoder.layers.crf import CRF
from pipelines.console import say
from pipelines.data.examples import PARTS
from pipelines.data.labels import compare_names
from pipelines.data.python_rows import source_name
from pipelines.data.scratch import scratch_folder
from pipelines.data.tagged.reading import PUNCTUATION
from pipelines.data.tagged.sources import TaggedSplits, load_tagged_splits
from pipelines.errors import InputError
from pipelines.model_folder import FineTuned
from pipelines.options import TagOptions
from pipelines.options.fields import named_columns
from pipelines.outputs import choose_output
from pipelines.reports.data_report import (
    Part,
    TokenCounts,
    data_report,
    report_lines,
)
from pipelines.tagging import schemes
from pipelines.tagging.pieces import StoredPieces, split_words
from pipelines.tagging.sentences import check_words, to_inner
from pipelines.tagging.training import all_tags, tag_names, train
from pipelines.training.callbacks import log_callbacks
from pipelines.training.class_weights import weights_by_label
from pipelines.training.recipe import (
    finish,
    load_pretrained,
    tokenizer_of,
)


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
    with scratch_folder(options.cache_dir):
        return _tag(options, callbacks)


def _tag(options, callbacks):
    started = time.perf_counter()
    _check_options(options)
    output = choose_output(options.output, options.overwrite, "tag")
    splits, scheme = read_splits(options)
    labels = tag_names(splits.train)
    weights = weights_by_label(
        options.class_weights,
        labels,
        collections.Counter(all_tags(splits.train)),
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
    if columns := named_columns(options):
        settings["columns"] = columns
    fine_tuned = FineTuned(model, start.tokenizer, labels, settings)
    pieces, report = _split_all(start.tokenizer, splits, options)
    stages, best, scores, outcome = train(
        fine_tuned, options, start, splits, pieces, weights, callbacks
    )
    found = {
        "scheme": scheme,
        "data": report,
        "precision": start.precision,
        "load_seconds": start.load_seconds,
        **scores,
    }
    metrics = finish(
        output, fine_tuned, options, stages, best, found, started, outcome
    )
    return fine_tuned, metrics


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
        check_words(name, inner[name])
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


def _split_all(tokenizer, splits, options):
    """Pieces of the sentences by split, and the data report, printed, too."""
    split, parts = {}, {}
    for name in PARTS:
        if examples := getattr(splits, name):
            words = (e.tokens for e in examples)
            found = StoredPieces(split_words(tokenizer, words))
            is_unknown = (s.pieces == tokenizer.unk_id for s in found)
            counts = TokenCounts(
                found.lengths + 2,
                special=2,
                read=int(found.lengths.sum()),
                unknown=int(sum(map(np.sum, is_unknown))),
            )
            split[name] = found
            parts[name] = Part(all_tags(examples), examples.hashes, counts)
    report = data_report(parts, options.max_length)
    say(*report_lines(report))
    return split, report
