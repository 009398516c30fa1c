import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from pipelines.tagging.decoding import (
    best_sequence,
    constrained_decode,
    legal_transitions,
    marginals,
)
from pipelines.tagging.schemes import count_irregular

IOB2 = ("O", "B-A", "I-A", "B-b-c", "I-b-c")
BIOES = ("I-A", "O", "S-A", "B-A", "E-A")
BILOU = ("I-A", "O", "U-A", "B-A", "L-A")
PLAIN = ("NOUN", "VERB", "O")


def is_legal(path, legal):
    steps = [len(legal) - 1, *path, len(legal) - 1]
    return all(legal[a, b] for a, b in itertools.pairwise(steps))


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [(IOB2, "IOB2"), (BIOES, "BIOES"), (BILOU, "BILOU")],
)
def test_legal_means_regular_in_the_scheme(labels, scheme):
    """Over all paths of three words."""
    legal = legal_transitions(labels)
    for path in itertools.product(range(len(labels)), repeat=3):
        regular = count_irregular([[labels[i] for i in path]], scheme) == 0
        assert is_legal(path, legal) == regular, [labels[i] for i in path]


def test_plain_labels_follow_in_any_order():
    assert legal_transitions(PLAIN).all()


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        (("O", "I-A"), ["I-A", "I-A"]),
        (("O", "B-A", "I-B"), ["B-A", "I-B"]),
        (("O", "S-A", "B-B"), ["B-B", "O"]),
        (("O", "S-A", "E-B"), ["E-B", "S-A"]),
    ],
)
def test_a_rule_without_its_label_is_off(labels, path):
    assert is_legal([labels.index(t) for t in path], legal_transitions(labels))


@pytest.mark.parametrize("labels", [IOB2, BIOES, BILOU, PLAIN])
@pytest.mark.parametrize("words", [1, 2, 4])
def test_decode_is_the_best_legal_path(labels, words):
    rng = np.random.default_rng(words)
    legal = legal_transitions(labels)
    rows = np.arange(words)
    for _ in range(5):
        scores = rng.normal(size=(words, len(labels))) * 3
        best = max(
            (
                path
                for path in itertools.product(range(len(labels)), repeat=words)
                if is_legal(path, legal)
            ),
            key=lambda path: scores[rows, list(path)].sum(),
        )
        assert tuple(constrained_decode(scores, labels)) == best


@hypothesis.given(st.integers(0, 30), st.integers(0, 2**31))
@hypothesis.settings(max_examples=50, deadline=None)
def test_one_legal_label_a_word(words, seed):
    scores = np.random.default_rng(seed).normal(size=(words, len(IOB2))) * 9
    path = constrained_decode(scores, IOB2)
    assert path.shape == (words,)
    assert is_legal(path, legal_transitions(IOB2))


def test_legal_argmax_is_kept():
    scores = np.log([[0.1, 0.8, 0.1], [0.2, 0.1, 0.7]])
    assert constrained_decode(scores, ("O", "B-A", "I-A")).tolist() == [1, 2]


@pytest.mark.parametrize("bad", [-np.inf, np.nan])
def test_impossible_labels_are_avoided(bad):
    scores = np.full((3, 3), bad)
    scores[:, 0] = 0.0
    path = constrained_decode(scores, ("O", "B-A", "I-A"))
    assert path.tolist() == [0, 0, 0]


def test_wrong_width():
    with pytest.raises(ValueError, match=r"the shape \(words, 5\), found"):
        constrained_decode(np.zeros((3, 4)), IOB2)


def test_the_result_is_the_callers_own():
    legal_transitions(IOB2)[:] = False
    assert legal_transitions(IOB2).any()


def every_sequence(scores, transitions):
    """Each sequence of labels with its sum of scores."""
    words, labels = scores.shape
    return {
        path: scores[np.arange(words), path].sum()
        + sum(
            transitions[step]
            for step in itertools.pairwise((labels, *path, labels))
        )
        for path in itertools.product(range(labels), repeat=words)
    }


@pytest.mark.parametrize("words", [1, 2, 4])
def test_best_sequence_and_marginals_are_those_of_all_sequences(words):
    rng = np.random.default_rng(words)
    for _ in range(5):
        scores = rng.normal(size=(words, 3)) * 3
        transitions = rng.normal(size=(4, 4)) * 3
        totals = every_sequence(scores, transitions)
        best = max(totals, key=totals.get)
        assert tuple(best_sequence(scores, transitions)) == best
        shares = np.zeros((words, 3))
        for path, total in totals.items():
            shares[np.arange(words), path] += np.exp(total)
        shares /= shares.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(marginals(scores, transitions), shares)


def test_without_words_there_is_nothing_to_choose():
    nothing = np.zeros((0, 3))
    assert best_sequence(nothing, np.zeros((4, 4))).shape == (0,)
    assert marginals(nothing, np.zeros((4, 4))).shape == (0, 3)


def test_the_best_label_of_each_word_where_every_sequence_is_forbidden():
    scores = np.array([[1.0, 2.0], [4.0, 3.0]])
    found = best_sequence(scores, np.full((3, 3), -np.inf))
    assert found.tolist() == [1, 0]
