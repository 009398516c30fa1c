"""What a tagger answered on sentences with tags: right, sure, mistaken."""

import itertools
from collections.abc import Sequence

import numpy as np

from pipelines.data.examples import TaggedExample
from pipelines.reports.outcome import SHOWN, Outcome
from pipelines.tagging.mistakes import sentence_mistakes


def tag_outcome(
    part: str,
    examples: Sequence[TaggedExample],
    results: list[tuple[list[str], np.ndarray]],
    scheme: str,
) -> Outcome:
    """The answers to sentences, word by word.

    Args:
        part: `test` or `validation`.
        examples: sentences with inner tags.
        results: tags and their probabilities, from `label_examples`.
        scheme: of the model, in which tags are told.
    """
    mistakes = sentence_mistakes(examples, results, scheme)
    pairs = zip(examples, results, strict=True)
    right = [
        gold == tag
        for example, (tags, _) in pairs
        for gold, tag in zip(example.tags, tags, strict=True)
    ]
    scores = [scores for _, scores in results]
    return Outcome(
        part,
        list(itertools.islice(mistakes, SHOWN)),
        np.concatenate([np.empty(0), *scores]),
        np.array(right, bool),
    )
