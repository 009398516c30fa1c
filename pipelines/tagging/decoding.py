"""The best sequence of tags that the scheme allows."""

import functools
from collections.abc import Sequence

import numpy as np

from pipelines.classification.metrics import softmax
from pipelines.tagging.schemes import OUTSIDE, is_entity_tag, split_tag

# Stands for log(0): so low that it loses, yet a sum of them stays finite.
FLOOR = -1e9
_CANONICAL = {"L": "E", "U": "S"}


def legal_transitions(labels: Sequence[str]) -> np.ndarray:
    """Returns which label may follow which, for IOB2 and BIOES (or BILOU).

    In IOB2, `I-X` follows only `B-X` and `I-X`. In BIOES, `B-X` and `I-X` are
    followed by `I-X` or `E-X`, and by nothing else. Where a label set lacks
    the label that a rule asks for (no `B-X`, or no `E-X`), the rule is off
    for that type, so that each label can be reached and left. Plain labels
    may follow each other in any order.

    Args:
        labels: the n labels of the model in the order of its outputs.

    Returns:
        A bool array (n + 1, n + 1). Row: the label before, the last row the
        start of the sentence. Column: the label after, the last column its
        end.
    """
    return _legal_transitions(tuple(labels)).copy()


@functools.lru_cache(maxsize=16)
def _legal_transitions(labels):
    n = len(labels)
    if not all(tag == OUTSIDE or is_entity_tag(tag) for tag in labels):
        return np.ones((n + 1, n + 1), dtype=bool)
    pairs = [split_tag(tag) for tag in labels]
    prefixes = np.array([_CANONICAL.get(p, p) for p, _ in pairs], dtype=object)
    types = np.array([t for _, t in pairs], dtype=object)
    with_begin = {t for p, t in pairs if p == "B"}
    with_end = {t for p, t in pairs if _CANONICAL.get(p, p) == "E"}
    has_begin = np.array([t in with_begin for t in types], dtype=bool)
    has_end = np.array([t in with_end for t in types], dtype=bool)

    inside = np.isin(prefixes, ("I", "E"))
    unfinished = np.isin(prefixes, ("B", "I"))
    opens = ~(inside & has_begin)
    closed = ~(unfinished & has_end)
    same_type = types[:, None] == types[None, :]
    continues = unfinished[:, None] & inside[None, :] & same_type

    legal = np.ones((n + 1, n + 1), dtype=bool)
    legal[:n, :n] = (closed[:, None] & opens[None, :]) | continues
    legal[n, :n] = opens
    legal[:n, n] = closed
    return legal


def crf_transitions(crf) -> np.ndarray | None:
    """Returns the scores of a CRF's steps, laid out as `legal_transitions`.

    Args:
        crf: built `keras_encoder.layers.crf.CRF` of n tags, or None.

    Returns:
        A float array (n + 1, n + 1), or None. Its last corner says nothing: a
        sentence without words has no steps.
    """
    if crf is None:
        return None
    transitions, start, end = crf.get_weights()
    scores = np.zeros((len(start) + 1, len(end) + 1))
    scores[:-1, :-1] = transitions
    scores[-1, :-1] = start
    scores[:-1, -1] = end
    return scores


def constrained_decode(
    log_probs: np.ndarray, labels: Sequence[str]
) -> np.ndarray:
    """Returns the most probable legal sequence of labels of one sentence.

    Maximizes the sum over words t of log_probs[t, y_t] over all y whose steps
    are in `legal_transitions`.

    Args:
        log_probs: (words, labels) log-probabilities, or logits.
        labels: names of the labels, in the order of the columns.

    Returns:
        int array (words,) of label ids. Where no sequence is legal, the best
        label of each word.
    """
    scores = np.asarray(log_probs, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] != len(labels):
        raise ValueError(
            f"log_probs: expected the shape (words, {len(labels)}), found "
            f"{scores.shape}."
        )
    scores = np.maximum(np.nan_to_num(scores, nan=FLOOR), FLOOR)
    legal = _legal_transitions(tuple(labels))
    return best_sequence(scores, np.where(legal, 0.0, -np.inf))


def best_sequence(scores: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """Returns the labels with the highest sum of scores: Viterbi's algorithm.

    Args:
        scores: (words, labels), finite.
        transitions: (labels + 1, labels + 1), the score of each step, laid
            out as `legal_transitions`; perhaps minus infinity.

    Returns:
        int array (words,) of label ids. Where every sequence has a forbidden
        step, the best label of each word.
    """
    if not len(scores):
        return np.zeros((0,), dtype=np.int64)
    best = scores[0] + transitions[-1, :-1]  # (labels,)
    came_from = np.zeros(scores.shape, dtype=np.int64)
    for t in range(1, len(scores)):
        paths = best[:, None] + transitions[:-1, :-1]  # (before, after)
        came_from[t] = paths.argmax(axis=0)
        best = paths.max(axis=0) + scores[t]
    best = best + transitions[:-1, -1]
    if not np.isfinite(best.max()):
        return scores.argmax(axis=1)

    path = np.empty(len(scores), dtype=np.int64)
    path[-1] = best.argmax()
    for t in range(len(scores) - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path


def marginals(scores: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """Returns the probability of each label over all sequences of labels.

    A sequence has the probability exp(its sum of scores), divided by those of
    all sequences: the forward-backward algorithm.

    Args:
        scores, transitions: as in `best_sequence`, all finite.

    Returns:
        Array (words, labels); each row sums to 1.
    """
    ahead = _forward(scores, transitions)
    # The words behind are those ahead, read from the other end.
    behind = _forward(scores[::-1], transitions.T)[::-1]
    return softmax(ahead + behind - scores)  # the word itself is in both


def _forward(scores, transitions):
    """Log of the summed exponentials of all sequences up to each label."""
    total = np.zeros(scores.shape)
    for t in range(len(scores)):
        if t == 0:
            total[t] = transitions[-1, :-1] + scores[t]
        else:
            paths = total[t - 1][:, None] + transitions[:-1, :-1]
            total[t] = np.logaddexp.reduce(paths, axis=0) + scores[t]
    return total
