"""The best sequence of tags that the scheme allows."""

import functools
from collections.abc import Sequence

import numpy as np

from pipelines.schemes import OUTSIDE, is_entity_tag, split_tag

# Stands for log(0): so low that it loses, yet a sum of them stays finite.
_FLOOR = -1e9
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


def constrained_decode(
    log_probs: np.ndarray, labels: Sequence[str]
) -> np.ndarray:
    """Returns the most probable legal sequence of labels of one sentence.

    Maximizes the sum over words t of log_probs[t, y_t] over all y whose steps
    are in `legal_transitions`: the Viterbi algorithm.

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
    if not len(scores):
        return np.zeros((0,), dtype=np.int64)
    scores = np.maximum(np.nan_to_num(scores, nan=_FLOOR), _FLOOR)
    legal = _legal_transitions(tuple(labels))
    penalty = np.where(legal, 0.0, -np.inf)

    best = scores[0] + penalty[-1, :-1]  # (labels,)
    came_from = np.zeros(scores.shape, dtype=np.int64)
    for t in range(1, len(scores)):
        paths = best[:, None] + penalty[:-1, :-1]  # (before, after)
        came_from[t] = paths.argmax(axis=0)
        best = paths.max(axis=0) + scores[t]
    best = best + penalty[:-1, -1]
    if not np.isfinite(best.max()):
        return scores.argmax(axis=1)

    path = np.empty(len(scores), dtype=np.int64)
    path[-1] = best.argmax()
    for t in range(len(scores) - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path
