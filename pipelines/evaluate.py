"""Scores of a model folder on labelled data."""

import contextlib
import dataclasses
import json

from pipelines.classification.decisions import (
    one_sided,
    score,
    with_abstention,
)
from pipelines.classification.mistakes import text_mistakes
from pipelines.classification.texts import predict_scores
from pipelines.console import say
from pipelines.data.labels import (
    compare_label_sets,
    compare_names,
    is_minus_one,
    normalise_label,
)
from pipelines.data.readers import read_examples
from pipelines.data.stored import StoredExamples
from pipelines.data.tagged.reading import read_tagged
from pipelines.data.tagged.spans import SpanReport
from pipelines.data.tagged.stored import StoredSentences
from pipelines.errors import InputError
from pipelines.model_folder import read_model_folder
from pipelines.options import EvaluateOptions
from pipelines.options.fields import named_columns
from pipelines.outputs import new_file
from pipelines.tagging.metrics import tag_scores
from pipelines.tagging.mistakes import sentence_mistakes
from pipelines.tagging.schemes import PLAIN, detect_scheme
from pipelines.tagging.sentences import (
    check_words,
    label_examples,
    to_inner,
)


def evaluate(options: EvaluateOptions) -> dict:
    """Runs the recipe.

    Args:
        options: see `EvaluateOptions`.

    Returns:
        The metrics. A label that the model does not know counts as missed.

    Raises:
        InputError: if an option or the data are wrong.
    """
    if options.errors is not None and options.errors == options.output:
        raise InputError(
            f"--errors {options.errors}: expected another file than --output."
        )
    with contextlib.ExitStack() as stack:
        # Both before anything is computed: a wrong path is told at once.
        output, errors = (
            path and stack.enter_context(new_file(path, name))
            for name, path in (
                ("--output", options.output),
                ("--errors", options.errors),
            )
        )
        metrics, mistakes = _evaluate(options)
        if output:
            output.write(
                json.dumps(metrics, indent=2, ensure_ascii=False) + "\n"
            )
        if errors:
            count = 0
            for mistake in mistakes:
                errors.write(json.dumps(mistake, ensure_ascii=False) + "\n")
                count += 1
            say(f"Mistakes: {count} of {metrics['rows']}")
    return metrics


def _evaluate(options):
    """The metrics, and an iterator over the mistakes."""
    fine_tuned = read_model_folder(options.model)
    if fine_tuned.settings["task"] == "pretrain":
        raise InputError(
            f"--model {options.model}: expected a classifier or a tagger, "
            "found a masked LM; `pretrain` scores it on held-out texts."
        )
    # What the command does not name has the names that the model learned from.
    columns = fine_tuned.settings.get("columns", {}) | named_columns(options)
    options = dataclasses.replace(options, **columns)
    fine_tuned = dataclasses.replace(
        fine_tuned,
        settings=with_abstention(fine_tuned.settings, options.abstain_below),
    )
    if fine_tuned.settings["task"] == "tag":
        examples = _read_sentences(options, fine_tuned)
        results = label_examples(fine_tuned, examples, options.batch_size)
        gold = [example.tags for example in examples]
        scheme = fine_tuned.settings["scheme"]
        metrics = tag_scores(gold, [tags for tags, _ in results], scheme)
        mistakes = sentence_mistakes(examples, results, scheme)
    else:
        examples = _read_texts(options, fine_tuned)
        scores = predict_scores(fine_tuned, examples, options.batch_size)
        how = (scores, fine_tuned.labels, fine_tuned.settings)
        metrics = score(examples.labels, *how)
        mistakes = text_mistakes(examples, *how)
        if warning := one_sided(metrics):
            say(warning)
    metrics = {"rows": len(examples), **metrics}
    print(json.dumps(metrics, indent=2, ensure_ascii=False))
    return metrics, mistakes


def _read_texts(options, fine_tuned):
    problem = fine_tuned.settings["problem"]
    left_out = 0

    def labelled():
        nonlocal left_out
        for row in read_examples(
            options.data,
            options.text,
            options.text_pair,
            options.label,
            data_dir=options.data_dir,
        ):
            is_label = "-1" in fine_tuned.labels and is_minus_one(row.label)
            label = normalise_label(
                row.label,
                problem,
                row.where,
                options.skip_unlabelled and not is_label,
            )
            if label is None:
                left_out += 1
            else:
                yield dataclasses.replace(row, label=label)

    examples = StoredExamples(labelled())
    if not examples:
        raise InputError(
            f"--data {options.data}: expected rows with a label, found none."
        )
    if left_out:
        say(f"{left_out} rows without a label left out")
    say(*compare_label_sets(fine_tuned.labels, examples, "data"))
    return examples


def _read_sentences(options, fine_tuned):
    report = SpanReport()
    examples = StoredSentences(
        read_tagged(
            options.data, options.word, options.tag, options.data_dir, report
        )
    )
    if report != SpanReport():
        say(str(report))
    if not examples:
        raise InputError(
            f"--data {options.data}: expected tagged sentences, found none."
        )
    check_words(f"--data {options.data}", examples)
    scheme = PLAIN
    if fine_tuned.settings["scheme"] != PLAIN:
        scheme = detect_scheme(example.tags for example in examples)
    examples = to_inner(examples, scheme)
    found = ((e.where, tag) for e in examples for tag in e.tags)
    say(*compare_names(fine_tuned.labels, found, "data"))
    return examples
