"""Scores of a model folder on labelled data."""

import dataclasses
import json

from pipelines.classify import score_examples
from pipelines.console import say
from pipelines.data.labels import compare_label_sets, normalise_label
from pipelines.data.readers import read_examples
from pipelines.errors import InputError
from pipelines.model_folder import read_model_folder
from pipelines.options import EvaluateOptions
from pipelines.outputs import new_file


def evaluate(options: EvaluateOptions) -> dict:
    """Runs the recipe.

    Args:
        options: see `EvaluateOptions`.

    Returns:
        The metrics. A label that the model does not know counts as missed.

    Raises:
        InputError: if an option or the data are wrong.
    """
    fine_tuned = read_model_folder(options.model)
    problem = fine_tuned.settings["problem"]
    examples, left_out = [], 0
    for row in read_examples(
        options.data, options.text, options.text_pair, options.label
    ):
        label = normalise_label(
            row.label, problem, row.where, options.skip_unlabelled
        )
        if label is None:
            left_out += 1
        else:
            examples.append(dataclasses.replace(row, label=label))
    if not examples:
        raise InputError(
            f"--data {options.data}: expected rows with a label, found none."
        )
    if left_out:
        say(f"{left_out} rows without a label left out")
    say(*compare_label_sets(fine_tuned.labels, examples, "data"))
    metrics = score_examples(fine_tuned, examples, options.batch_size)
    metrics = {"rows": len(examples), **metrics}
    text = json.dumps(metrics, indent=2, ensure_ascii=False)
    print(text)
    if options.output is not None:
        with new_file(options.output) as file:
            file.write(text + "\n")
    return metrics
