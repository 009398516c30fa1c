"""From the probabilities of pieces to entities in a text.

The strategies are those of transformers' token-classification pipeline, with
two differences: `word` is always the slice of the user's text, and labels may
be chosen as the best sequence that the scheme allows.
"""

import numpy as np

from pipelines.tagging.alignment import Sentence
from pipelines.tagging.decoding import (
    FLOOR,
    best_sequence,
    constrained_decode,
    legal_transitions,
    marginals,
)
from pipelines.tagging.schemes import (
    OUTSIDE,
    PLAIN,
    scheme_of_labels,
    split_tag,
)


def choose_labels(
    probabilities: np.ndarray,
    labels: tuple[str, ...],
    constrained: bool,
    crf: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The label of each word (or piece) of one sentence.

    Args:
        probabilities: (words, labels).
        labels: in the order of the columns.
        constrained: whether the scheme's rules hold, else each word has its
            most probable label. IOB1 and plain labels have no rules.
        crf: None, or the scores of a CRF's steps, from `crf_transitions`.

    Returns:
        The labels as column numbers, (words,), and the probabilities of all
        labels, (words, labels): with a CRF those over all sequences, without
        one those that were given.
    """
    has_rules = constrained and scheme_of_labels(labels) not in ("IOB1", PLAIN)
    if not len(probabilities) or (crf is None and not has_rules):
        return probabilities.argmax(axis=-1), probabilities
    scores = np.log(np.maximum(probabilities, 1e-300))
    if crf is None:
        return constrained_decode(scores, labels), probabilities
    if has_rules:
        crf = np.where(legal_transitions(labels), crf, FLOOR)
    return best_sequence(scores, crf), marginals(scores, crf)


def word_probabilities(
    probabilities: np.ndarray, sentence: Sentence, strategy: str
) -> np.ndarray:
    """Probabilities of words from those of their pieces.

    Args:
        probabilities: (pieces, labels).
        sentence: which piece belongs to which word.
        strategy: `first` (of the first piece), `average` (mean of the
            pieces) or `max` (of the piece with the highest probability).

    Returns:
        Array (words, labels).
    """
    starts = np.searchsorted(sentence.words, np.arange(sentence.num_words))
    if strategy == "first" or not len(starts):
        return probabilities[starts]
    if strategy == "average":
        counts = np.diff(np.append(starts, len(sentence.words)))
        return np.add.reduceat(probabilities, starts) / counts[:, None]
    best = probabilities.max(axis=-1)
    ends = np.append(starts[1:], len(sentence.words))
    chosen = [s + best[s:e].argmax() for s, e in zip(starts, ends, strict=True)]
    return probabilities[np.array(chosen, int)]


def find_entities(
    text: str,
    probabilities: np.ndarray,
    sentence: Sentence,
    labels: tuple[str, ...],
    strategy: str,
    constrained: bool,
    crf: np.ndarray | None = None,
) -> list[dict]:
    """Entities of a text.

    Args:
        text: as the user wrote it.
        probabilities: (pieces, labels).
        sentence: the pieces, with offsets into the text.
        labels: in the order of the columns.
        strategy: `none` (every piece that is not `O`), `simple` (group
            pieces), `first`, `average` or `max` (group words).
        constrained: whether labels must be a legal sequence.
        crf: as in `choose_labels`. Like the rules, it is of words: `none` and
            `simple` do without.

    Returns:
        Dicts of `entity_group`, `score`, `word`, `start` and `end` (code
        points, end exclusive); for `none`, `entity` and `index` (from 1, as
        [CLS] is 0) instead of `entity_group`.
    """
    if strategy in ("none", "simple"):
        units, spans = probabilities, sentence.offsets
        chosen = units.argmax(axis=-1)
    else:
        units = word_probabilities(probabilities, sentence, strategy)
        starts = np.searchsorted(sentence.words, np.arange(sentence.num_words))
        ends = np.append(starts[1:], len(sentence.words)) - 1
        spans = (
            np.stack(
                [sentence.offsets[starts, 0], sentence.offsets[ends, 1]], axis=1
            )
            if len(starts)
            else np.zeros((0, 2), int)
        )
        chosen, units = choose_labels(units, labels, constrained, crf)
    tags = [labels[i] for i in chosen]
    scores = units[np.arange(len(chosen)), chosen]
    if strategy == "none":
        return [
            {
                "entity": tag,
                "score": float(score),
                "index": i + 1,
                "word": text[start:end],
                "start": int(start),
                "end": int(end),
            }
            for i, (tag, score, (start, end)) in enumerate(
                zip(tags, scores, spans, strict=True)
            )
            if tag != OUTSIDE
        ]
    if scheme_of_labels(labels) == PLAIN:
        pairs = [("I", tag) for tag in tags]
    else:
        pairs = [split_tag(tag) for tag in tags]
    return [
        _entity(text, pairs[a][1], scores[a:b], spans[a][0], spans[b - 1][1])
        for a, b in _groups(pairs)
        if tags[a] != OUTSIDE
    ]


def _groups(pairs):
    """(start, end) of each run of one type that no `B-` opens anew."""
    start = 0
    for i in range(1, len(pairs) + 1):
        if i == len(pairs) or not _continues(*pairs[i - 1], *pairs[i]):
            yield start, i
            start = i


def _continues(last, last_type, prefix, kind):
    if OUTSIDE in (last, prefix):
        return last == prefix
    return (
        kind == last_type
        and prefix not in ("B", "S", "U")
        and last not in ("E", "L", "S", "U")
    )


def _entity(text, kind, scores, start, end):
    return {
        "entity_group": kind or "_",  # of the bare tags B and I
        "score": float(np.mean(scores)),
        "word": text[start:end],
        "start": int(start),
        "end": int(end),
    }
